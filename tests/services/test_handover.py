"""A POST gets what the commit that ended its turn made of the message, without reading it again.

design: The POST window.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain.idempotency import fingerprint
from agentpost.domain.message import TurnFailure
from agentpost.domain.records import Snapshot
from agentpost.services import sending, turns
from agentpost.services.sending import NewMessage, Sent
from agentpost.services.tickets import TurnTicket
from tests.services.harness import Harness
from tests.waiting import eventually_async

End = Callable[[Harness, TurnTicket], Awaitable[object]]


async def _reply(harness: Harness, ticket: TurnTicket) -> None:
    await harness.end(ticket, "Hello!")


async def _ask(harness: Harness, ticket: TurnTicket) -> None:
    await harness.end(ticket, "Gladly.", "Which one?")


async def _break(harness: Harness, ticket: TurnTicket) -> None:
    await harness.break_turn(ticket, TurnFailure.ERROR)


async def _start(harness: Harness, ticket: TurnTicket) -> None:
    await harness.start(ticket)
    await harness.end(ticket, "On it.")


async def _write(harness: Harness, ticket: TurnTicket) -> None:
    owned = harness.owned((await harness.start(ticket)).job_id)
    for path in ("a.txt", "b.txt"):
        file = await harness.file(owned, path)
        await turns.write_file(
            harness.ctx, ticket, harness.call(ticket.message.id), replace(file, job_id=None)
        )
    await harness.end(ticket, "Written.")


@asynccontextmanager
async def posted(harness: Harness) -> AsyncIterator[asyncio.Task[Sent]]:
    """A POST that is held, its turn begun."""
    new = NewMessage("hello", fingerprint("hello", [], []), metadata={"a": "b"})
    admitted = await sending.admit(harness.ctx, harness.caller, new, [])
    before = len(harness.runner.tickets)
    sent = asyncio.create_task(sending.send(harness.ctx, harness.caller, admitted, lambda _: None))
    await eventually_async(lambda: len(harness.runner.tickets) > before)
    await asyncio.sleep(0)
    yield sent
    await sent


def stored(harness: Harness, message_id: str) -> Snapshot:
    def read(tx: Tx) -> Snapshot:
        message = message_rows.get(tx, message_id)
        assert message is not None
        return message_rows.snapshot(tx, message)

    return harness.ctx.db.read_now(read)


@pytest.mark.parametrize("end", [_reply, _ask, _break, _start, _write])
async def test_the_answer_of_a_post_is_what_is_stored(harness: Harness, end: End) -> None:
    async with posted(harness) as sent:
        ticket = harness.runner.tickets[-1]
        await end(harness, ticket)
        answered = (await sent).snapshot
    assert answered == stored(harness, ticket.message.id)


@pytest.mark.parametrize("end", [_reply, _start])
async def test_the_end_of_a_turn_is_not_read_again(
    harness: Harness, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(self: object, fn: Callable[[Tx], Any]) -> Any:
        raise AssertionError("nothing has to be read")

    async with posted(harness) as sent:
        monkeypatch.setattr(type(harness.ctx.db), "read", read)
        await end(harness, harness.runner.tickets[-1])
        assert (await sent).snapshot.message.reply is not None


async def test_nothing_is_kept_once_the_post_is_answered(harness: Harness) -> None:
    async with posted(harness) as sent:
        ticket = harness.runner.tickets[-1]
        await _reply(harness, ticket)
        await sent
    assert harness.ctx.handover.take(ticket.message.id) is None
    assert not harness.ctx.handover._newest
