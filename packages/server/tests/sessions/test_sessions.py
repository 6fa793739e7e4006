"""Login links and sessions by their use cases."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentpost import bootstrap
from agentpost.accounts import actions as accounts
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.domain.errors import Refusal
from agentpost.domain.limits import SIGNED_IN_KNOWN_SECONDS
from agentpost.retention import actions as retention
from agentpost.sessions import actions as sessions
from agentpost.sessions.actions import Visitor
from agentpost.settings import load_settings
from tests.servers import empty_sqlite

Open = Callable[..., Any]


@pytest.fixture
async def open_context(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Open]:
    """Opens the same records with other settings, as a command beside the server does."""
    clock, url = ManualClock(), schema_url or ""
    if schema_url is None:
        shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    async with AsyncExitStack() as stack:

        async def open_another(**given: Any) -> AppContext:
            settings = load_settings(data_dir=str(tmp_path), database_url=url, **given)
            ctx = await bootstrap.open_context(settings, clock)
            stack.push_async_callback(bootstrap.close, ctx)
            return ctx

        yield open_another


@pytest.fixture
async def ctx(open_context: Open) -> AppContext:
    ctx: AppContext = await open_context()
    return ctx


def secret_of(link: sessions.LoginLink) -> str:
    return link.url.rpartition("/login/")[2]


async def count(ctx: AppContext, table: str) -> int:
    row = await ctx.db.read(lambda tx: tx.one(f"SELECT COUNT(*) FROM {table}"))
    assert row is not None
    return int(row[0])


async def test_the_account_may_be_left_out_while_there_is_one(ctx: AppContext) -> None:
    with pytest.raises(ValueError, match="no account yet"):
        await sessions.make_link(ctx)
    ann = await accounts.create(ctx, "ann@example.com", "Ann")
    assert (await sessions.make_link(ctx)).account.id == ann.id
    await accounts.create(ctx, "bob@example.com", "Bob")
    with pytest.raises(ValueError, match="several accounts"):
        await sessions.make_link(ctx)
    assert (await sessions.make_link(ctx, ann.id)).account.id == ann.id


async def test_links_and_sessions_that_are_over_are_dropped(ctx: AppContext) -> None:
    await accounts.create(ctx, "ann@example.com", "Ann")
    clock = ctx.clock
    assert isinstance(clock, ManualClock)
    await sessions.log_in(ctx, secret_of(await sessions.make_link(ctx)))
    await sessions.make_link(ctx)
    clock.advance(sessions.LOGIN_LINK_SECONDS)
    fresh = await sessions.make_link(ctx)
    await retention.rest(ctx)
    assert (await count(ctx, "login_tokens"), await count(ctx, "sessions")) == (1, 1)
    clock.advance(int(ctx.settings.session_seconds))
    assert await sessions.log_in(ctx, secret_of(fresh)) is None
    await sessions.make_link(ctx)
    await retention.rest(ctx)
    assert (await count(ctx, "login_tokens"), await count(ctx, "sessions")) == (1, 1)
    clock.advance(SIGNED_IN_KNOWN_SECONDS)  # so long its address counts as known
    await retention.rest(ctx)
    assert (await count(ctx, "login_tokens"), await count(ctx, "sessions")) == (0, 0)


async def test_links_lead_to_where_the_server_last_started(open_context: Open) -> None:
    server = await open_context(port=9_001)
    await accounts.create(server, "ann@example.com", "Ann")
    command = await open_context(port=8_080)
    assert (await sessions.make_link(command)).url.startswith("http://127.0.0.1:8080/login/")
    await sessions.remember_address(server)
    assert (await sessions.make_link(command)).url.startswith("http://127.0.0.1:9001/login/")
    reported = await open_context(base_url="https://api.example", app_url="https://app.example")
    assert (await sessions.make_link(reported)).url.startswith("https://app.example/login/")


async def test_an_operator_lists_and_ends_sessions(ctx: AppContext) -> None:
    clock = ctx.clock
    assert isinstance(clock, ManualClock)
    secrets = {}
    for name in ("ann", "bob"):
        await accounts.create(ctx, f"{name}@example.com", name)
        for n in range(2):
            token = secret_of(await sessions.make_link(ctx, f"{name}@example.com"))
            secret = await sessions.log_in(ctx, token, Visitor(f"192.0.2.{n}", "Firefox"))
            secrets[name, n] = secret or ""
            clock.advance(1)
    listed = await sessions.of_everybody(ctx)
    assert [(user.email[:3], (each.address or "")[-1]) for each, user in listed] == [
        ("bob", "1"),
        ("bob", "0"),
        ("ann", "1"),
        ("ann", "0"),
    ]
    clock.advance(120)
    assert await sessions.signed_in(ctx, secrets["ann", 0], "198.51.100.7")
    ann = await sessions.of_everybody(ctx, "Ann@example.com")
    assert [each.address for each, _ in ann] == ["192.0.2.1", "198.51.100.7"], "where used last"

    await sessions.end_by_operator(ctx, ann[0][0].id)
    assert await sessions.signed_in(ctx, secrets["ann", 1]) is None
    for wrong in (ann[0][0].id, ann[1][0].id[:20], "", "%"):
        with pytest.raises(Refusal, match="no such session"):
            await sessions.end_by_operator(ctx, wrong)
    assert await sessions.end_all(ctx, "bob@example.com") == 2
    assert await sessions.signed_in(ctx, secrets["ann", 0]) is not None
    assert await sessions.end_all(ctx) == 1
    with pytest.raises(Refusal, match="no such user or account"):
        await sessions.end_all(ctx, "eve@example.com")
