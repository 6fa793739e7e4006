"""Mail to owners: kept without a mail server, sent with one (design: Pages and secrets)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from agentpost.accounts import actions as accounts, rows as account_rows
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import seconds
from agentpost.mail import actions as mail
from agentpost.mail.actions import SmtpServer
from agentpost.users.address_rules import check_mail_address
from tests.operations.test_doctor import fail_once, failing

DAY = 86_400


@dataclass
class Postbox:
    """A mail server that keeps what it is sent, or refuses it."""

    port: int = 0
    refuses: bool = False
    refusal: bytes = b"451 not now\r\n"
    mails: list[str] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As much SMTP as a client needs."""

        async def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())
            await writer.drain()

        await say("220 postbox")
        while line := (await reader.readline()).decode().strip():
            verb = line[:4].upper()
            if verb == "DATA":
                await say("354 go on")
                self.mails.append((await reader.readuntil(b"\r\n.\r\n")).decode())
                await say("250 kept")
            elif verb == "RCPT" and self.refuses:
                writer.write(self.refusal)
            else:
                await say("221 bye" if verb == "QUIT" else "250 fine")
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Postbox]:
    postbox = Postbox()
    server = await asyncio.start_server(postbox.talk, "127.0.0.1", 0)
    postbox.port = server.sockets[0].getsockname()[1]
    async with server:
        yield postbox


def move_owner(account: str, address: str, tx: Tx) -> None:
    tx.execute("UPDATE accounts SET email = ? WHERE id = ?", (address, account))


TurnOff = Callable[[], Awaitable[str]]


@pytest.fixture
def turn_off(ctx: AppContext, account: str, clock: ManualClock) -> TurnOff:
    """Lets an endpoint fail until it is turned off; its id."""

    async def fail() -> str:
        made = await failing(ctx, account, clock)
        clock.advance(3 * DAY)
        await fail_once(ctx, made.id, clock)
        clock.advance(3 * DAY)
        return made.id

    return fail


async def test_mail_is_sent_once(
    ctx: AppContext, account: str, clock: ManualClock, turn_off: TurnOff
) -> None:
    endpoint = await turn_off()
    async with listening() as postbox:
        server = SmtpServer.parse(f"smtp://127.0.0.1:{postbox.port}?from=post@example.com")
        await asyncio.gather(*(mail.send_due(ctx, server) for _ in range(5)))
        clock.advance(10 * DAY)
        await mail.send_due(ctx, server)
    (text,) = postbox.mails
    assert "From: post@example.com" in text
    assert "To: owner@example.com" in text
    assert endpoint in text
    (kept,) = await mail.mail_queue(ctx, account)
    assert kept.sent_at is not None
    assert (kept.attempts, kept.last_error) == (1, None)


async def test_refused_mail_is_tried_again(
    ctx: AppContext, account: str, clock: ManualClock, turn_off: TurnOff
) -> None:
    await turn_off()
    async with listening() as postbox:
        postbox.refuses = True
        server = SmtpServer.parse(f"smtp://127.0.0.1:{postbox.port}")
        await mail.send_due(ctx, server)
        (kept,) = await mail.mail_queue(ctx, account)
        assert (kept.attempts, kept.sent_at) == (1, None)
        assert kept.last_error is not None
        assert "not now" in kept.last_error
        postbox.refuses = False
        await mail.send_due(ctx, server)
        assert postbox.mails == [], "not at once"
        clock.advance(mail.RETRY_SECONDS)
        await mail.send_due(ctx, server)
        assert len(postbox.mails) == 1
    clock.advance(DAY)
    (kept,) = await mail.mail_queue(ctx, account)
    assert kept.attempts == 2


async def test_a_mail_server_that_speaks_no_text(
    ctx: AppContext, account: str, turn_off: TurnOff
) -> None:
    """What it said is kept in characters every database takes."""
    await turn_off()
    async with listening() as postbox:
        postbox.refuses, postbox.refusal = True, b"451 \xff\x00\r\n"
        await mail.send_due(ctx, SmtpServer.parse(f"smtp://127.0.0.1:{postbox.port}"))
    (kept,) = await mail.mail_queue(ctx, account)
    assert (kept.attempts, kept.sent_at) == (1, None)
    assert "451" in (kept.last_error or "")


async def test_an_account_has_an_address_that_mail_can_reach(ctx: AppContext, account: str) -> None:
    with pytest.raises(ValueError, match="'ops team'"):
        await accounts.create(ctx, "ops team", "Ops")
    assert [each.id for each in await ctx.db.read(account_rows.all_)] == [account]
    assert check_mail_address(accounts.DEFAULT_EMAIL)


async def test_mails_that_nobody_can_take_hold_up_no_other(
    ctx: AppContext, account: str, turn_off: TurnOff
) -> None:
    """No account has such an address any more; one of an older version may."""
    wrong = ["ops team", "", "ops@", "ops\n@example.com", "\x7f@a"]
    for address in (*wrong, "owner@example.com"):
        await ctx.db.write(partial(move_owner, account, address))
        await turn_off()
    async with listening() as postbox:
        for _ in range(2):  # three at a time, the oldest first: the good one goes with two others
            await mail.send_due(ctx, SmtpServer.parse(f"smtp://127.0.0.1:{postbox.port}"))
        assert len(postbox.mails) == 1
    sent, *unsent = await mail.mail_queue(ctx, account)
    assert sent.sent_at is not None
    assert [each.recipient for each in unsent] == wrong[::-1]
    for each in unsent:
        assert (each.attempts, each.sent_at, bool(each.last_error)) == (1, None, True)
        assert each.next_attempt_at == ctx.clock.now() + seconds(mail.RETRY_SECONDS)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        (
            "smtp://mail.example.com",
            SmtpServer("mail.example.com", 587, False, None, None, "agentpost@mail.example.com"),
        ),
        (
            "smtps://me%40example.com:p%3Ass@mail.example.com",
            SmtpServer("mail.example.com", 465, True, "me@example.com", "p:ss", "me@example.com"),
        ),
        (
            "smtp://u:p@mail.example.com:25?from=a@b.example",
            SmtpServer("mail.example.com", 25, False, "u", "p", "a@b.example"),
        ),
    ],
)
def test_smtp_addresses(url: str, server: SmtpServer) -> None:
    assert SmtpServer.parse(url) == server


@pytest.mark.parametrize("url", ["mail.example.com", "http://mail.example.com", "smtp://"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="SMTP_URL"):
        SmtpServer.parse(url)
