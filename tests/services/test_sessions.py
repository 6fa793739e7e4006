"""Login links and sessions by their use cases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentpost import bootstrap
from agentpost.clock import ManualClock
from agentpost.domain.errors import Refusal
from agentpost.domain.times import SECOND
from agentpost.services import accounts, retention, sessions
from agentpost.services.context import House
from agentpost.settings import load_settings

Open = Callable[..., Any]


@pytest.fixture(params=["sqlite", "postgres"])
async def open_house(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Opens the same records with other settings, as a command beside the server does."""
    clock, url = ManualClock(), ""
    if request.param == "postgres":
        url = request.getfixturevalue("fresh_postgres")()
    async with AsyncExitStack() as stack:

        async def open_another(**given: Any) -> House:
            settings = load_settings(data_dir=str(tmp_path), database_url=url, **given)
            await asyncio.to_thread(bootstrap.upgrade_database, settings)
            parts = await bootstrap.open_house(settings, clock)
            stack.push_async_callback(bootstrap.close_house, parts)
            return parts.house

        yield open_another


@pytest.fixture
async def house(open_house: Open) -> House:
    house: House = await open_house()
    return house


def secret_of(link: sessions.LoginLink) -> str:
    return link.url.rpartition("/login/")[2]


async def count(house: House, table: str) -> int:
    row = await house.db.read(lambda tx: tx.one(f"SELECT COUNT(*) FROM {table}"))
    assert row is not None
    return int(row[0])


async def test_a_link_becomes_a_session_once(house: House) -> None:
    account = await accounts.create(house, "ann@example.com", "Ann")
    link = await sessions.make_link(house, "ann@example.com")
    assert link.account.id == account.id
    assert link.expires_at == house.clock.now() + 15 * 60 * SECOND
    token = secret_of(link)
    assert await sessions.can_log_in(house, token)
    tries = await asyncio.gather(*(sessions.log_in(house, token) for _ in range(50)))
    (secret,) = [won for won in tries if won is not None]
    assert await sessions.account_of(house, secret) == account.id
    assert await sessions.account_of(house, token) is None
    assert not await sessions.can_log_in(house, token)
    await sessions.log_out(house, secret)
    await sessions.log_out(house, secret)
    assert await sessions.account_of(house, secret) is None


async def test_the_account_may_be_left_out_while_there_is_one(house: House) -> None:
    with pytest.raises(ValueError, match="no account yet"):
        await sessions.make_link(house)
    ann = await accounts.create(house, "ann@example.com", "Ann")
    assert (await sessions.make_link(house)).account.id == ann.id
    await accounts.create(house, "bob@example.com", "Bob")
    with pytest.raises(ValueError, match="several accounts"):
        await sessions.make_link(house)
    assert (await sessions.make_link(house, ann.id)).account.id == ann.id


async def test_an_unknown_account_gets_no_link(house: House) -> None:
    with pytest.raises(Refusal) as refused:
        await sessions.make_link(house, "nobody@example.com")
    assert refused.value.code == "not_found"
    assert await count(house, "login_tokens") == 0


async def test_what_is_over_is_dropped(house: House) -> None:
    await accounts.create(house, "ann@example.com", "Ann")
    clock = house.clock
    assert isinstance(clock, ManualClock)
    await sessions.log_in(house, secret_of(await sessions.make_link(house)))
    await sessions.make_link(house)
    clock.advance(sessions.LOGIN_LINK_SECONDS)
    fresh = await sessions.make_link(house)
    await retention.rest(house)
    assert (await count(house, "login_tokens"), await count(house, "sessions")) == (1, 1)
    clock.advance(sessions.SESSION_SECONDS)
    assert await sessions.log_in(house, secret_of(fresh)) is None
    await sessions.make_link(house)
    await retention.rest(house)
    assert (await count(house, "login_tokens"), await count(house, "sessions")) == (1, 0)


async def test_links_lead_to_where_the_server_last_started(open_house: Open) -> None:
    server = await open_house(port=9_001)
    await accounts.create(server, "ann@example.com", "Ann")
    command = await open_house(port=8_080)
    assert (await sessions.make_link(command)).url.startswith("http://127.0.0.1:8080/login/")
    await sessions.remember_address(server)
    assert (await sessions.make_link(command)).url.startswith("http://127.0.0.1:9001/login/")
    told = await open_house(base_url="https://api.example", app_url="https://app.example")
    assert (await sessions.make_link(told)).url.startswith("https://app.example/login/")
