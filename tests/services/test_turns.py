"""Turns: one at a time per conversation, busy messages, how a turn ends, fencing.

spec: Transitions, createMessage; design: Turns; One turn at a time; The POST window; How a turn
ends.
"""

from collections.abc import Awaitable, Callable

import pytest

from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import signals as s
from agentpost.domain.errors import Fenced, RuleBroken
from agentpost.domain.message import TurnFailure
from agentpost.services import attachments, jobs, messages, record, turns, upkeep
from agentpost.services.attachments import InlineFile
from agentpost.services.messages import NewMessage
from agentpost.services.tickets import TurnTicket
from tests.services.house import NODE, Desk


def state(desk: Desk, message_id: str) -> tuple[str, str | None, bool]:
    shown = desk.shown(message_id)
    return shown["status"], shown["reason"], shown["final"]


# --- how a turn goes ------------------------------------------------------------------------------
@pytest.mark.rule("Message status 5")
async def test_a_direct_answer(desk: Desk) -> None:
    ticket = await desk.begun("hello")
    message_id = ticket.message.id
    before = desk.shown(message_id)
    assert state(desk, message_id) == ("processing", None, False)
    assert before["updated_at"] == before["created_at"]
    await desk.end(ticket, "Hello!")
    after = desk.shown(message_id)
    assert state(desk, message_id) == ("completed", None, True)
    assert (after["reply"], after["question"], after["jobs"]) == ("Hello!", None, [])
    assert after["updated_at"] > after["created_at"]
    assert desk.types(message_id) == ["agent_reply"]
    assert desk.names(message_id) == ["message.completed"]


@pytest.mark.rule("Message status 4")
async def test_a_question(desk: Desk) -> None:
    ticket = await desk.begun()
    await desk.end(ticket, "Gladly.", "Which one?")
    shown = desk.shown(ticket.message.id)
    assert (shown["status"], shown["question"]) == ("needs_input", "Which one?")
    assert shown["reply"] == "Gladly.\n\nWhich one?"
    assert desk.log(ticket.message.id)[0]["text"] == shown["reply"]
    assert desk.names(ticket.message.id) == ["message.needs_input"]


@pytest.mark.rule("Message status 2", "Transitions 13", "Reasons turn_failed")
@pytest.mark.parametrize("detail", list(TurnFailure))
async def test_a_broken_turn(desk: Desk, detail: TurnFailure) -> None:
    """design: How a turn ends."""
    ticket = await desk.begun()
    await desk.break_turn(ticket, detail)
    assert state(desk, ticket.message.id) == ("failed", "turn_failed", True)
    [entry] = desk.log(ticket.message.id)
    assert (entry["type"], entry["reason"]) == ("turn_failed", detail.value)
    assert desk.names(ticket.message.id) == ["message.failed"]


@pytest.mark.rule("Message status 2", "Transitions 13")
async def test_jobs_of_a_broken_turn_stay_listed_and_go_on(desk: Desk) -> None:
    ticket = await desk.begun()
    started = await desk.start(ticket)
    await desk.break_turn(ticket)
    message_id = ticket.message.id
    assert state(desk, message_id) == ("failed", "turn_failed", False)
    assert desk.job(message_id)["status"] == "running"
    job = desk.owned(started.job_id)
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert state(desk, message_id) == ("failed", "turn_failed", True)
    assert desk.job(message_id)["status"] == "completed"
    finals = [data["final"] for _, data in desk.events(message_id, "message.")]
    assert finals == [False, True]


@pytest.mark.rule("Message status 3")
async def test_a_turn_that_only_starts_work_says_nothing(desk: Desk) -> None:
    """design: Entries and events."""
    ticket = await desk.begun()
    await desk.start(ticket)
    await desk.end(ticket, None)
    assert state(desk, ticket.message.id) == ("processing", None, False)
    assert desk.log(ticket.message.id) == []
    assert desk.names(ticket.message.id) == []


@pytest.mark.rule("getMessage.held")
async def test_a_held_read_answers_what_it_waits_for(desk: Desk) -> None:
    """Status, reply or a job's status; a step or a charge is none of them."""

    def waited_for() -> int:
        row = desk.one("SELECT state_version FROM messages WHERE id = ?", ticket.message.id)
        return int(row[0])

    ticket = await desk.begun()
    versions = [waited_for()]
    job = desk.owned((await desk.start(ticket)).job_id)
    versions.append(waited_for())
    await desk.end(ticket)
    versions.append(waited_for())
    assert versions == sorted(set(versions))
    await jobs.progress(desk.house, job, desk.call(job.job_id), "Counting")
    await jobs.charge(desk.house, job, desk.call(job.job_id), 1, "")
    assert waited_for() == versions[-1]
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert waited_for() > versions[-1]


# --- one turn at a time ---------------------------------------------------------------------------
async def test_turns_of_a_conversation_run_in_order_of_acceptance(desk: Desk) -> None:
    """design: One turn at a time."""
    first = await desk.begun("one")
    sent = [(await desk.send(text)).message.id for text in ("two", "three")]
    assert len(desk.runner.tickets) == 1
    await desk.end(first)
    await desk.break_turn(desk.ticket(sent[0]))
    await desk.end(desk.ticket(sent[1]))
    order = [ticket.message.text for ticket in desk.runner.tickets]
    assert order == ["one", "two", "three"]


async def test_conversations_do_not_wait_for_each_other(desk: Desk) -> None:
    """design: Conversations."""
    await desk.begun("one", conversation="ada")
    await desk.begun("two", conversation="bob")
    assert [t.conversation for t in desk.runner.tickets] == ["ada", "bob"]


@pytest.mark.rule("Job.role", "createMessage 5")
async def test_a_follow_up_continues_the_conversation_and_may_join_its_work(desk: Desk) -> None:
    """The joined job is listed with role follow_up and leads the status."""
    message_id, [job] = await desk.working("Chart")
    ticket = await desk.begun("make it blue")
    inputs = ticket.message.turn_inputs_json or ""
    assert job.job_id in inputs
    assert await desk.join(ticket, job.job_id)
    assert await desk.join(ticket, job.job_id)  # once more changes nothing
    await desk.end(ticket)
    [listed] = desk.shown(ticket.message.id)["jobs"]
    assert (listed["job_id"], listed["role"]) == (job.job_id, "follow_up")
    assert desk.job(message_id)["role"] == "execution"
    assert state(desk, ticket.message.id) == ("processing", None, False)
    await jobs.finish(desk.house, job, "Blue now.", None, "{}")
    assert state(desk, ticket.message.id) == ("completed", None, True)
    assert desk.types(ticket.message.id) == ["agent_reply", "result"]
    assert desk.names(ticket.message.id) == ["message.completed"]  # job.* go to the first message


@pytest.mark.rule("createMessage 5")
async def test_joining_and_stopping_are_never_refused_by_the_cap(desk: Desk) -> None:
    _, running = await desk.working(*"abcde")
    ticket = await desk.begun("and another thing")
    assert (await desk.start(ticket)).state == "refused"
    assert await desk.join(ticket, running[0].job_id)
    assert await desk.stop(ticket, running[1].job_id)
    assert (await desk.start(ticket)).state == "running"


async def test_work_that_has_ended_cannot_be_joined_or_stopped(desk: Desk) -> None:
    """`join` and `stop` answer False (design: Durable execution)."""
    _, [job] = await desk.working()
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    ticket = await desk.begun("more")
    assert not await desk.join(ticket, job.job_id)
    assert not await desk.stop(ticket, job.job_id)
    assert not await desk.join(ticket, "exe_unknown")
    assert desk.shown(ticket.message.id)["jobs"] == []


# --- busy -----------------------------------------------------------------------------------------
async def busy(desk: Desk) -> tuple[TurnTicket, str]:
    """A turn that runs and a message behind it that lost its patience."""
    running = await desk.begun("long")
    waiting = (await desk.send("short", idempotency_key="k")).message.id
    desk.tick(desk.house.settings.busy_wait_seconds)
    await upkeep.give_up_waiting_turns(desk.house)
    return running, waiting


@pytest.mark.rule("Message.retry_after_seconds", "Transitions 12", "Reasons agent_busy")
async def test_a_message_that_waited_too_long_is_busy(desk: Desk) -> None:
    """Nothing ran, when to send again."""
    _, message_id = await busy(desk)
    assert state(desk, message_id) == ("failed", "agent_busy", True)
    assert desk.shown(message_id)["retry_after_seconds"] == 15
    assert desk.types(message_id) == ["turn_busy"]
    assert desk.names(message_id) == ["message.failed"]
    assert [t.message.id for t in desk.runner.tickets].count(message_id) == 0


async def test_patience_lasts_to_the_microsecond(desk: Desk) -> None:
    await desk.begun("long")
    message_id = (await desk.send("short")).message.id
    desk.tick(desk.house.settings.busy_wait_seconds - 0.000_001)
    await upkeep.give_up_waiting_turns(desk.house)
    assert state(desk, message_id)[0] == "processing"


async def test_a_turn_that_ends_late_passes_over_those_who_lost_patience(desk: Desk) -> None:
    """A waiting turn has a deadline, whoever notices (design: One turn at a time)."""
    running = await desk.begun("long")
    first = (await desk.send("early")).message.id
    desk.tick(desk.house.settings.busy_wait_seconds)
    second = (await desk.send("late")).message.id
    await desk.end(running)
    assert state(desk, first) == ("failed", "agent_busy", True)
    assert desk.ticket(second).message.id == second


@pytest.mark.rule("Transitions 12")
async def test_a_busy_message_sent_again_runs_under_its_id(desk: Desk) -> None:
    """Same key and body, same message id (design: One turn at a time; Webhook events)."""
    running, message_id = await busy(desk)
    await desk.end(running)
    again = await desk.send("short", idempotency_key="k")
    assert (again.message.id, again.fresh, again.rearmed) == (message_id, False, True)
    shown = desk.shown(message_id)
    assert (shown["status"], shown["reason"], shown["final"]) == ("processing", None, False)
    assert "retry_after_seconds" not in shown
    assert shown["updated_at"] == shown["created_at"]
    await desk.end(desk.ticket(message_id), "Now.")
    assert state(desk, message_id) == ("completed", None, True)
    assert desk.types(message_id) == ["turn_busy", "agent_reply"]
    assert desk.names(message_id) == ["message.failed", "message.completed"]


async def test_a_busy_message_may_be_busy_again(desk: Desk) -> None:
    """Each run's outcome is a new event (design: One turn at a time)."""
    _, message_id = await busy(desk)
    await desk.send("short", idempotency_key="k")
    assert state(desk, message_id) == ("processing", None, False)
    desk.tick(desk.house.settings.busy_wait_seconds)
    await upkeep.give_up_waiting_turns(desk.house)
    assert state(desk, message_id) == ("failed", "agent_busy", True)
    assert desk.names(message_id) == ["message.failed", "message.failed"]


async def test_of_two_re_sends_one_re_arms(desk: Desk) -> None:
    """Of concurrent re-sends exactly one re-arms (design: One turn at a time)."""
    running, _ = await busy(desk)
    await desk.end(running)
    first = await desk.send("short", idempotency_key="k")
    second = await desk.send("short", idempotency_key="k")
    assert (first.rearmed, second.rearmed) == (True, False)
    assert len(desk.runner.tickets) == 2


# --- fencing --------------------------------------------------------------------------------------
Write = Callable[[Desk, TurnTicket], Awaitable[object]]
WRITES: dict[str, Write] = {
    "end": lambda desk, ticket: desk.end(ticket),
    "fail": lambda desk, ticket: desk.break_turn(ticket),
    "start": lambda desk, ticket: desk.start(ticket),
    "join": lambda desk, ticket: desk.join(ticket, "exe_any"),
    "stop": lambda desk, ticket: desk.stop(ticket, "exe_any"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_turn_taken_over_takes_nothing_from_its_old_runner(
    desk: Desk, write: Write
) -> None:
    """design: Ownership."""
    old = await desk.begun()
    await turns.retake(desk.house, old.message.id, NODE)
    assert desk.ticket(old.message.id).epoch == old.epoch + 1
    rows = desk.one("SELECT version FROM messages WHERE id = ?", old.message.id)
    with pytest.raises(Fenced):
        await write(desk, old)
    assert desk.one("SELECT version FROM messages WHERE id = ?", old.message.id) == rows
    await desk.end(desk.ticket(old.message.id))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_turn_that_has_ended_takes_nothing_more(desk: Desk, write: Write) -> None:
    ticket = await desk.begun()
    await desk.end(ticket)
    before = desk.shown(ticket.message.id)
    with pytest.raises(Fenced):
        await write(desk, ticket)
    assert desk.shown(ticket.message.id) == before


async def test_a_turn_over_its_limit_is_abandoned_when_taken_over(desk: Desk) -> None:
    """design: How a turn ends."""
    ticket = await desk.begun()
    desk.tick(desk.house.settings.turn_limit_seconds)
    await turns.retake(desk.house, ticket.message.id, NODE)
    assert state(desk, ticket.message.id) == ("failed", "turn_failed", True)
    assert desk.log(ticket.message.id)[0]["reason"] == "abandoned"


@pytest.mark.rule("Message event log agent_reply")
async def test_a_reply_says_whether_the_post_still_waits_for_it(desk: Desk) -> None:
    """design: The POST window."""
    soon = await desk.begun("one", conversation="a")
    late = await desk.begun("two", conversation="b")
    taken_over = await desk.begun("three", conversation="c")
    await turns.retake(desk.house, taken_over.message.id, NODE)
    await desk.end(soon)
    await desk.end(desk.ticket(taken_over.message.id))
    desk.tick(desk.house.settings.turn_reply_seconds)
    await desk.end(late)
    said = [desk.log(t.message.id)[0]["delivered_sync"] for t in (soon, late, taken_over)]
    assert said == [True, False, False]


# --- attachments ----------------------------------------------------------------------------------
@pytest.mark.rule("createMessage 4")
async def test_files_that_cannot_be_taken_become_notes(desk: Desk) -> None:
    """Undecodable, executable and surplus files do not fail the message."""
    given = [
        InlineFile("ok.txt", None, "b2s=", None),
        InlineFile("odd.txt", None, "!!", None),
        InlineFile("run.txt", None, "f0VMRgIBAQA=", None),
        *[InlineFile(f"{n}.txt", None, "b2s=", None) for n in range(3)],
    ]
    attached = await attachments.take(desk.house, given)
    new = NewMessage("look", "fingerprint")
    message_id = f"msg_{'0' * 32}"
    await messages.accept(desk.house, desk.caller, new, attached, message_id)
    shown = desk.shown(message_id)
    assert shown["status"] == "processing"
    assert len(shown["notes"]) == 3
    for word, note in zip(("odd.txt", "run.txt", "1 more"), shown["notes"], strict=True):
        assert word in note
    names = desk.all("SELECT name FROM attachments WHERE message_id = ? ORDER BY n", message_id)
    assert names == [("ok.txt",), ("0.txt",), ("1.txt",)]


async def test_a_signal_without_a_row_changes_nothing(desk: Desk) -> None:
    """A programmer's error is loud, and the transaction is undone (design: One record and one
    writer).
    """
    ticket = await desk.begun()
    await desk.end(ticket)
    before = desk.shown(ticket.message.id)

    def fn(tx: Tx) -> None:
        message = message_rows.lock(tx, ticket.message.id)
        assert message is not None
        record.apply_turn(tx, desk.house, message, s.TurnBegun(), desk.tick())

    with pytest.raises(RuleBroken, match="ended cannot take TurnBegun"):
        await desk.house.db.write(fn)
    assert desk.shown(ticket.message.id) == before
