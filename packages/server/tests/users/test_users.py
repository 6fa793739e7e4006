"""Users by their use cases, on both databases: roles, removing, passwords, and mails with links."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from agentpost import bootstrap
from agentpost.accounts import actions as accounts
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded, Refusal
from agentpost.mail.actions import SmtpServer
from agentpost.sessions import actions as sessions, mail, password_links, sign_in
from agentpost.sessions.actions import Visitor
from agentpost.sessions.passwords import Passwords
from agentpost.settings import load_settings
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Role
from tests.mail.test_mail import listening
from tests.servers import empty_sqlite
from tests.sessions.test_sessions import count

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse battery"
HERE = Visitor("192.0.2.1", "Firefox")


@pytest.fixture
async def ctx(tmp_path: Path, schema_url: str | None) -> AsyncIterator[AppContext]:
    if schema_url is None:
        shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    databases = {"data_dir": str(tmp_path), "database_url": schema_url or ""}
    settings = load_settings(**databases, smtp_url="smtp://mail.test")
    opened = await bootstrap.open_context(settings, ManualClock())
    opened.passwords = Passwords(CHEAP)
    await accounts.bootstrap(opened, "svc_key_x", 0)
    yield opened
    await bootstrap.close(opened)


def clock(ctx: AppContext) -> ManualClock:
    assert isinstance(ctx.clock, ManualClock)
    return ctx.clock


async def operator(ctx: AppContext) -> UserRecord:
    (found,) = [each for each in await users.all_(ctx) if each.role == Role.OPERATOR]
    return found


async def user_of(ctx: AppContext, email: str) -> UserRecord:
    (found,) = [each for each in await users.all_(ctx) if each.email == email]
    return found


def token_of(url: str) -> str:
    return url.rpartition("/")[2]


async def test_each_account_has_a_user_of_its_own(ctx: AppContext) -> None:
    account = await accounts.create(ctx, "Team@Example.com", "Team")
    found = {each.email: (each.role, each.account_id) for each in await users.all_(ctx)}
    assert found["team@example.com"] == (Role.OWNER, account.id)
    assert found[accounts.DEFAULT_EMAIL][0] == Role.OPERATOR
    with pytest.raises(ValueError, match="there is a user with the address"):
        await accounts.create(ctx, "TEAM@example.com", "Another")
    assert await count(ctx, "accounts") == 2, "nothing is left of it"


async def test_a_user_is_created_once_and_listed(ctx: AppContext) -> None:
    account = await accounts.create(ctx, "team@example.com", "Team")
    made = []
    for n in range(51):
        clock(ctx).advance(1)
        made.append(await users.create(ctx, account.id, f"u{n}@example.com", Role.MEMBER))
    page, more = await users.list_(ctx, account.id)
    assert [each.email for each in page] == [u.email for u in reversed(made[1:])]
    rest, _ = await users.list_(ctx, account.id, more)
    assert [each.email for each in rest] == ["u0@example.com", "team@example.com"]
    for wrong in ("U0@example.com", "no address", ""):
        with pytest.raises(ValueError, match="address"):
            await users.create(ctx, account.id, wrong, Role.MEMBER)
    with pytest.raises(Refusal, match="account"):
        await users.create(ctx, "nobody@example.com", "x@example.com", Role.MEMBER)


async def test_an_account_keeps_an_owner_and_the_server_an_operator(ctx: AppContext) -> None:
    """Also when two changes at once would each leave the other's."""
    boss = await operator(ctx)
    second = await users.create(ctx, boss.account_id, "second@example.com", Role.OPERATOR)
    outcomes = await asyncio.gather(
        users.remove(ctx, boss.id),
        users.set_role(ctx, second.id, Role.MEMBER),
        return_exceptions=True,
    )
    refused = [each for each in outcomes if isinstance(each, Refusal)]
    assert [each.message for each in refused] == [users.LAST_OPERATOR]
    assert len([each for each in await users.all_(ctx) if each.role == Role.OPERATOR]) == 1
    pair = await accounts.create(ctx, "one@example.com", "Pair")
    one = await user_of(ctx, "one@example.com")
    two = await users.create(ctx, pair.id, "two@example.com", Role.OWNER)
    outcomes = await asyncio.gather(
        users.set_role(ctx, two.id, Role.MEMBER, one),
        users.set_role(ctx, one.id, Role.MEMBER, two),
        return_exceptions=True,
    )
    assert [isinstance(each, Refusal) for each in outcomes].count(True) == 1
    left, _ = await users.list_(ctx, pair.id)
    assert [each.role for each in left].count(Role.OWNER) == 1
    account = await accounts.create(ctx, "team@example.com", "Team")
    await users.create(ctx, account.id, "more@example.com", Role.OWNER)
    await users.remove(ctx, "team@example.com")
    link = await sessions.make_link(ctx, account.id)
    assert link.user.email == "more@example.com"


async def test_an_operator_of_the_settings_is_made_once(ctx: AppContext) -> None:
    for _ in range(2):
        await users.ensure_operator(ctx, "Ada@Example.com")
    made = [each for each in await users.all_(ctx) if each.email == "ada@example.com"]
    assert [each.role for each in made] == [Role.OPERATOR]
    await users.set_role(ctx, made[0].id, Role.MEMBER)
    await users.ensure_operator(ctx, "ada@example.com")
    assert (await ctx.db.read(lambda tx: users.find(tx, made[0].id))).role == Role.MEMBER


async def test_a_link_is_spent_by_one_of_many(ctx: AppContext) -> None:
    boss = await operator(ctx)
    token = token_of((await password_links.make(ctx, boss.email)).url)
    tries = (password_links.set_password(ctx, token, PASSWORD, Visitor()) for _ in range(10))
    won = [secret for secret in await asyncio.gather(*tries) if secret is not None]
    assert len(won) == 1
    assert await sessions.signed_in(ctx, won[0]) is not None
    assert await count(ctx, "login_tokens") == 0


async def test_a_password_is_hashed_anew_when_the_parameters_are_others(ctx: AppContext) -> None:
    boss = await operator(ctx)
    old = await Passwords(PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)).hash(PASSWORD)
    await ctx.db.write(lambda tx: user_rows.set_password(tx, boss.id, old))
    for _ in range(2):
        assert await sign_in.with_password(ctx, boss.email, PASSWORD, HERE) is not None
    kept = (await operator(ctx)).password
    assert kept is not None
    assert kept != old
    assert not CHEAP.check_needs_rehash(kept)
    assert await sign_in.with_password(ctx, boss.email, "wrong password", HERE) is None
    assert (await operator(ctx)).password == kept


async def test_a_password_that_changes_while_it_is_checked_opens_nothing(
    ctx: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss = await operator(ctx)
    first = await ctx.passwords.hash(PASSWORD)
    await ctx.db.write(lambda tx: user_rows.set_password(tx, boss.id, first))
    check = ctx.passwords.check

    async def late(kept: str | None, password: str) -> object:
        checked = await check(kept, password)
        await ctx.db.write(lambda tx: user_rows.set_password(tx, boss.id, "another"))
        return checked

    monkeypatch.setattr(ctx.passwords, "check", late)
    assert await sign_in.with_password(ctx, boss.email, PASSWORD, HERE) is None
    assert await count(ctx, "sessions") == 0


async def test_the_work_of_hashing_is_bounded() -> None:
    passwords = Passwords(CHEAP)
    tries = (passwords.check(None, PASSWORD) for _ in range(50))
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    refused = [each for each in outcomes if isinstance(each, Overloaded)]
    assert len(refused) == 30
    assert await passwords.check(None, PASSWORD) is None, "there is room again"


async def test_a_mail_is_made_when_it_is_sent_and_only_for_a_user(ctx: AppContext) -> None:
    boss = await operator(ctx)
    account = await accounts.create(ctx, "team@example.com", "Team")
    owner = await ctx.db.read(lambda tx: users.find(tx, account.email))
    await password_links.invite(ctx, owner, account.id, "new@example.com", Role.MEMBER)
    await password_links.ask_for_mail(ctx, "team@example.com", "192.0.2.1")
    await password_links.ask_for_mail(ctx, "nobody@example.com", "192.0.2.1")
    assert (await count(ctx, "user_mails"), await count(ctx, "login_tokens")) == (3, 0)
    async with listening() as postbox:
        server = SmtpServer.parse(f"smtp://127.0.0.1:{postbox.port}")
        postbox.refuses = True
        await mail.send_due(ctx, server)
        assert await count(ctx, "user_mails") == 2, "that of nobody is gone"
        postbox.refuses = False
        await mail.send_due(ctx, server)
        assert postbox.mails == [], "not at once"
        clock(ctx).advance(300)
        await mail.send_due(ctx, server)
        texts = [each.replace("=\r\n", "") for each in postbox.mails]
    assert (await count(ctx, "user_mails"), len(texts)) == (0, 2)
    found = {re.findall(r"^To: (\S+)", t, re.M)[0]: t for t in texts}
    assert sorted(found) == ["new@example.com", "team@example.com"]
    match = re.search(r"/password/([\w-]{43})", found["new@example.com"])
    assert match is not None
    assert await password_links.set_password(ctx, match[1], PASSWORD, Visitor()) is not None
    assert boss.email not in str(found)


async def test_a_mail_is_given_up_after_a_day(ctx: AppContext) -> None:
    await password_links.ask_for_mail(ctx, (await operator(ctx)).email, "192.0.2.1")
    clock(ctx).advance(86_401)
    await mail.send_due(ctx, SmtpServer.parse("smtp://127.0.0.1:9"))
    assert (await count(ctx, "user_mails"), await count(ctx, "login_tokens")) == (0, 0)
