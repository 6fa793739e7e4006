"""Who waits for a commit, or runs what it placed, gets what it made without reading it again.

design: The POST window; Held reads.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentpost.db.session import Tx
from agentpost.following import long_polls
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.messages import rows as message_rows, sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import TurnFailure
from agentpost.record.records import Snapshot
from agentpost.record.tickets import TurnTicket
from agentpost.turns import actions as turns
from tests.harness.context import Harness
from tests.harness.ends import fail, finish
from tests.waiting import eventually_async


async def _start(harness: Harness, ticket: TurnTicket, *titles: str) -> None:
    for title in titles or ("Work",):
        await harness.start(ticket, title)
    await harness.end(ticket, "On it.")


async def _start_one_that_says(harness: Harness, ticket: TurnTicket) -> None:
    owned = harness.owned((await harness.start(ticket)).job_id)
    call = harness.call(owned.job_id)
    await jobs.progress(harness.ctx, owned, call, "Reading")
    await harness.end(ticket, "On it.")


async def _start_one_that_ends(harness: Harness, ticket: TurnTicket) -> None:
    await _finish(harness, harness.owned((await harness.start(ticket)).job_id))
    await harness.end(ticket, "Done already.")


async def _start_beside_a_file(harness: Harness, ticket: TurnTicket) -> None:
    for n, path in enumerate(("a.txt", "a.txt")):
        owned = harness.owned((await harness.start(ticket, f"Work {n}")).job_id)
        file = replace(await harness.file(owned, path), job_id=None)
        call = harness.call(ticket.message.id)
        await turns.record_call(harness.ctx, ticket, call, file)
    await harness.start(ticket, "The last")
    await harness.end(ticket, "On them.")


async def _write(harness: Harness, ticket: TurnTicket) -> None:
    owned = harness.owned((await harness.start(ticket)).job_id)
    for path in ("a.txt", "b.txt"):
        file = await harness.file(owned, path)
        await turns.record_call(
            harness.ctx, ticket, harness.call(ticket.message.id), replace(file, job_id=None)
        )
    await harness.end(ticket, "Written.")


ENDS: dict[str, Callable[[Harness, TurnTicket], Awaitable[object]]] = {
    "replies": lambda harness, ticket: harness.end(ticket, "Hello!"),
    "asks": lambda harness, ticket: harness.end(ticket, "Gladly.", "Which one?"),
    "breaks": lambda harness, ticket: harness.break_turn(ticket, TurnFailure.ERROR),
    "starts a job": _start,
    "starts two": lambda harness, ticket: _start(harness, ticket, "one", "two"),
    "starts one that reports": _start_one_that_says,
    "starts one that ends": _start_one_that_ends,
    "starts one beside a file": _start_beside_a_file,
    "writes": _write,
}


@asynccontextmanager
async def posted(harness: Harness) -> AsyncIterator[asyncio.Task[tuple[Snapshot, bool]]]:
    """A POST that is held, its turn begun."""
    new = NewMessage("hello", metadata={"a": "b"})
    admitted = await sending.admit(harness.ctx, harness.caller, new)
    before = len(harness.runner.tickets)
    sent = asyncio.create_task(sending.send(harness.ctx, harness.caller, admitted, lambda _: None))
    await eventually_async(lambda: len(harness.runner.tickets) > before)
    await asyncio.sleep(0)
    yield sent
    await sent


def snapshot(harness: Harness, message_id: str) -> Snapshot:
    def read(tx: Tx) -> Snapshot:
        message = message_rows.get(tx, message_id)
        assert message is not None
        return message_rows.snapshot(tx, message)

    return harness.ctx.db.read_now(read)


@pytest.mark.parametrize("end", ENDS)
async def test_the_answer_of_a_post_is_what_is_stored(harness: Harness, end: str) -> None:
    async with posted(harness) as sent:
        ticket = harness.runner.tickets[-1]
        await ENDS[end](harness, ticket)
        answered = (await sent)[0]
    assert answered == snapshot(harness, ticket.message.id)
    assert not harness.ctx.wakeups.waits, "nothing is kept of it"


@pytest.mark.parametrize("end", ["replies", "starts a job"])
async def test_the_end_of_a_turn_is_not_read_again(
    harness: Harness, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(self: object, fn: Callable[[Tx], Any]) -> Any:
        raise AssertionError("nothing has to be read")

    async with posted(harness) as sent:
        monkeypatch.setattr(type(harness.ctx.db), "read", read)
        await ENDS[end](harness, harness.runner.tickets[-1])
        assert (await sent)[0].message.reply is not None


# --- held reads -----------------------------------------------------------------------------------
@asynccontextmanager
async def followed(
    harness: Harness, message_id: str
) -> AsyncIterator[list[asyncio.Task[Snapshot]]]:
    """Two reads of a message that are held."""
    reads = [
        asyncio.create_task(
            long_polls.until_changed(
                harness.ctx, harness.caller, message_id, 40, None, lambda _: None
            )
        )
        for _ in range(2)
    ]
    waits = harness.ctx.wakeups.waits

    def held() -> bool:
        return [each._future is not None for each in waits.get(message_id, ())] == [True, True]

    await eventually_async(held)  # both have read it
    yield reads
    await asyncio.gather(*reads)


async def _finish(harness: Harness, job: JobClaim) -> None:
    file = await harness.file(job, "out/a.txt")
    await jobs.record_call(harness.ctx, job, harness.call(job.job_id), 0, (), file)
    await finish(harness.ctx, job, "Done.", "Which one?", "{}")


async def _fail(harness: Harness, job: JobClaim) -> None:
    await fail(harness.ctx, job, "No.")


@pytest.mark.parametrize("end", [_finish, _fail])
@pytest.mark.parametrize("titles", [("one",), ("one", "two")])
async def test_what_a_held_read_answers_is_what_is_stored(
    harness: Harness, titles: tuple[str, ...], end: Callable[[Harness, JobClaim], Awaitable[None]]
) -> None:
    message_id, started = await harness.working(*titles)
    async with followed(harness, message_id) as reads:
        await end(harness, started[-1])
        now = snapshot(harness, message_id)
        assert [await read for read in reads] == [now, now]
    assert not harness.ctx.wakeups.waits


async def test_a_held_read_is_not_read_again_where_all_commits_are_ours(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id, [job] = await harness.working()
    seen: list[object] = []
    read = type(harness.ctx.db).read

    async def counted(self: Any, fn: Callable[[Tx], Any]) -> Any:
        seen.append(fn)
        return await read(self, fn)

    async with followed(harness, message_id) as reads:
        monkeypatch.setattr(type(harness.ctx.db), "read", counted)
        await finish(harness.ctx, job, "Done.", None, "{}")
        assert all([(await held).message.final for held in reads])
    assert bool(seen) == (harness.ctx.db.external_commits is None)


# --- jobs -----------------------------------------------------------------------------------------
async def test_a_job_that_was_placed_here_is_handed_to_its_runner(harness: Harness) -> None:
    """It is the same as one that is read, which it is from the second time on."""
    _, [before] = await harness.working("Chart")
    await finish(harness.ctx, before, "Done.", None, '{"color":"red"}')
    work_id = harness.one("SELECT work_id FROM jobs WHERE id = ?", before.job_id)[0]
    ticket = await harness.begin_turn("Bluer")
    for work in (None, work_id):
        job_id = (await harness.start(ticket, work_id=work)).job_id
        handed = harness.ctx.handover.take_job(job_id, 1)
        read = await jobs.open_(harness.ctx, job_id, 1)
        assert handed is not None
        assert read is not None
        assert handed.turn is ticket.has_returned
        assert handed == replace(read, confirmed_at=handed.confirmed_at, turn=handed.turn)
        assert handed.state_json == ('{"color":"red"}' if work else "{}")


async def test_a_job_is_handed_over_for_its_epoch_only(harness: Harness) -> None:
    _, [job] = await harness.working()
    assert harness.ctx.handover.take_job(job.job_id, job.epoch + 1) is None
    assert harness.ctx.handover.take_job(job.job_id, job.epoch) is None
