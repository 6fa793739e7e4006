"""Turns: one at a time per conversation, busy messages, how a turn ends, fencing.

spec: Transitions, createMessage; design: Turns; One turn at a time; The POST window; How a turn
ends.
"""

from collections.abc import Awaitable, Callable

import pytest

from agentpost.agents import values
from agentpost.domain.errors import Fenced
from agentpost.jobs import actions as jobs
from agentpost.messages.rules import WhenBusy
from agentpost.nodes import upkeep
from agentpost.record.tickets import TurnTicket
from agentpost.turns import actions as turns
from tests.harness.context import NODE, Harness
from tests.harness.ends import finish


def state(harness: Harness, message_id: str) -> tuple[str, str | None, bool]:
    shown = harness.view(message_id)
    return shown["status"], shown["reason"], shown["final"]


async def test_the_works_a_turn_is_shown_are_frozen_with_it(harness: Harness) -> None:
    """What a job left, as `Turn.works` has it, until the turn is over (design: Turns)."""
    memory = {"größe": 3, "$file": "mine", "said": 'a "quote"'}
    _, [job] = await harness.working("Zeichnung „A“")
    file = await harness.file(job, "out/a.txt")
    await jobs.record_call(harness.ctx, job, harness.call(job.job_id), 0, (), file)
    await finish(harness.ctx, job, "done \\ über", "Which?", values.dump(memory))
    ticket = await harness.begin_turn("more")
    [work] = values.load(ticket.message.turn_inputs_json or "", None)["works"]
    shown = {**work, "files": [each.id for each in work["files"]]}
    texts = {"title": "Zeichnung „A“", "text": "done \\ über", "question": "Which?"}
    assert shown == {**texts, "work_id": file.work_id, "files": [file.file_id], "state": memory}
    await harness.end(ticket)
    [kept] = harness.one("SELECT turn_inputs_json FROM messages WHERE id = ?", ticket.message.id)
    assert kept is None


async def test_who_joins_twice_is_listed_once(harness: Harness) -> None:
    _, [job] = await harness.working("Chart")
    ticket = await harness.begin_turn("make it blue")
    for _ in range(2):
        assert await harness.join(ticket, job.job_id)
    await harness.end(ticket)
    [listed] = harness.view(ticket.message.id)["jobs"]
    assert (listed["job_id"], listed["role"]) == (job.job_id, "follow_up")


# --- busy -----------------------------------------------------------------------------------------
async def test_patience_lasts_to_the_microsecond(harness: Harness) -> None:
    await harness.begin_turn("long")
    message_id = (await harness.send("short")).message.id
    harness.tick(harness.ctx.settings.busy_wait_seconds - 0.000_001)
    await upkeep.expire_waiting_turns(harness.ctx)
    assert state(harness, message_id)[0] == "processing"


async def test_a_turn_that_ends_late_passes_over_those_who_lost_patience(harness: Harness) -> None:
    """A waiting turn has a deadline, whoever notices (design: One turn at a time)."""
    running = await harness.begin_turn("long")
    first = (await harness.send("early")).message.id
    harness.tick(harness.ctx.settings.busy_wait_seconds)
    second = (await harness.send("late")).message.id
    await harness.end(running)
    assert state(harness, first) == ("failed", "agent_busy", True)
    assert harness.ticket(second).message.id == second


@pytest.mark.parametrize("busy", [WhenBusy.WAIT, WhenBusy.FAIL])
async def test_a_busy_message_may_be_busy_again(harness: Harness, busy: WhenBusy) -> None:
    """Each run's outcome is a new event (design: One turn at a time)."""
    await harness.begin_turn("long")
    for times in (1, 2):
        message_id = (await harness.send("short", idempotency_key="k", busy=busy)).message.id
        if busy is WhenBusy.WAIT:
            assert state(harness, message_id) == ("processing", None, False)
            harness.tick(harness.ctx.settings.busy_wait_seconds)
            await upkeep.expire_waiting_turns(harness.ctx)
        assert state(harness, message_id) == ("failed", "agent_busy", True)
        assert harness.names(message_id) == ["message.failed"] * times


# --- fencing --------------------------------------------------------------------------------------
Write = Callable[[Harness, TurnTicket], Awaitable[object]]
WRITES: dict[str, Write] = {
    "end": lambda harness, ticket: harness.end(ticket),
    "fail": lambda harness, ticket: harness.break_turn(ticket),
    "start": lambda harness, ticket: harness.start(ticket),
    "join": lambda harness, ticket: harness.join(ticket, "exe_any"),
    "stop": lambda harness, ticket: harness.stop(ticket, "exe_any"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_turn_taken_over_takes_nothing_from_its_old_runner(
    harness: Harness, write: Write
) -> None:
    old = await harness.begin_turn()
    await turns.reclaim(harness.ctx, old.message.id, NODE)
    assert harness.ticket(old.message.id).epoch == old.epoch + 1
    rows = harness.one("SELECT version FROM messages WHERE id = ?", old.message.id)
    with pytest.raises(Fenced):
        await write(harness, old)
    assert harness.one("SELECT version FROM messages WHERE id = ?", old.message.id) == rows
    await harness.end(harness.ticket(old.message.id))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_turn_that_has_ended_takes_nothing_more(harness: Harness, write: Write) -> None:
    ticket = await harness.begin_turn()
    await harness.end(ticket)
    before = harness.view(ticket.message.id)
    with pytest.raises(Fenced):
        await write(harness, ticket)
    assert harness.view(ticket.message.id) == before


async def test_a_turn_over_its_limit_is_abandoned_when_taken_over(harness: Harness) -> None:
    ticket = await harness.begin_turn()
    harness.tick(harness.ctx.settings.turn_limit_seconds)
    await turns.reclaim(harness.ctx, ticket.message.id, NODE)
    assert state(harness, ticket.message.id) == ("failed", "turn_failed", True)
    assert harness.log(ticket.message.id)[0]["reason"] == "abandoned"


@pytest.mark.rule("Message event log agent_reply")
async def test_a_reply_says_whether_the_post_still_waits_for_it(harness: Harness) -> None:
    soon = await harness.begin_turn("one", conversation="a")
    late = await harness.begin_turn("two", conversation="b")
    taken_over = await harness.begin_turn("three", conversation="c")
    await turns.reclaim(harness.ctx, taken_over.message.id, NODE)
    await harness.end(soon)
    await harness.end(harness.ticket(taken_over.message.id))
    harness.tick(harness.ctx.settings.turn_reply_seconds)
    await harness.end(late)
    said = [harness.log(t.message.id)[0]["delivered_sync"] for t in (soon, late, taken_over)]
    assert said == [True, False, False]


@pytest.mark.rule("Additions busy")
async def test_a_queued_message_keeps_its_place_and_waits_a_day(harness: Harness) -> None:
    ticket = await harness.begin_turn()
    queued = (await harness.send("queued", busy=WhenBusy.QUEUE)).message
    harness.clock.advance(1)
    waits = (await harness.send("waits")).message
    harness.clock.advance(harness.ctx.settings.busy_wait_seconds)
    await upkeep.expire_waiting_turns(harness.ctx)
    assert harness.view(waits.id)["reason"] == "agent_busy"
    assert harness.view(queued.id)["queue_position"] == 1
    later = (await harness.send("later")).message
    await harness.end(ticket)
    assert harness.ticket(queued.id).message.id == queued.id, "it was accepted first"
    assert harness.view(later.id)["status"] == "processing"

    other = (await harness.send("forgotten", busy=WhenBusy.QUEUE)).message
    harness.clock.advance(harness.ctx.settings.queue_wait_seconds + 1)
    await upkeep.expire_waiting_turns(harness.ctx)
    assert harness.view(other.id)["reason"] == "agent_busy"
