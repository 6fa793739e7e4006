"""`agentpost explain --replay`: messages of every shape agree with their signals, and a row that
somebody changed is found and named."""

from collections.abc import Awaitable, Callable

import pytest

from agentpost.domain import signals as s
from agentpost.domain.message import TurnFailure, WhenBusy
from agentpost.services import credits, jobs, record, replaying, retention, timeline, upkeep, works
from tests.services.harness import Harness

DAYS = 86_400
Life = Callable[[Harness], Awaitable[str]]


async def echo(harness: Harness) -> str:
    ticket = await harness.begun()
    await harness.end(ticket, "You said: hello")
    return ticket.message.id


async def question(harness: Harness) -> str:
    ticket = await harness.begun()
    await harness.end(ticket, "Well.", "Which year?")
    return ticket.message.id


async def broken(harness: Harness) -> str:
    ticket = await harness.begun()
    await harness.break_turn(ticket, TurnFailure.EMPTY)
    return ticket.message.id


async def busy(harness: Harness) -> str:
    await harness.begun(conversation="c")
    accepted = await harness.send(conversation="c", busy=WhenBusy.FAIL)
    return accepted.message.id


async def job(harness: Harness) -> str:
    """With steps, files, a worker that died and a take-over."""
    message_id, [owned] = await harness.working("Chart")
    harness.tick()
    await jobs.progress(harness.ctx, owned, harness.call(owned.job_id), "half")
    harness.tick()
    file = await harness.file(owned, "out.txt")
    await jobs.write_file(harness.ctx, owned, harness.call(owned.job_id), file, 0)
    now = harness.tick()
    signal = s.JobReclaimed()
    await harness.ctx.db.write(
        lambda tx: record.apply_job(tx, harness.ctx, owned.job_id, signal, now)
    )
    harness.tick()
    await jobs.finish(
        harness.ctx, harness.owned(owned.job_id), "Done.", "And in which colour?", "{}"
    )
    return message_id


async def follow_up(harness: Harness) -> str:
    """Joins a job that has said something before; its clock was set back meanwhile."""
    _, [owned] = await harness.working("Chart")
    await jobs.progress(harness.ctx, owned, harness.call(owned.job_id), "before")
    harness.tick(-30)
    ticket = await harness.begun("faster", conversation="other")
    await harness.join(ticket, owned.job_id)
    await harness.end(ticket, None)
    await jobs.progress(harness.ctx, owned, harness.call(owned.job_id), "after")
    harness.tick()
    await jobs.finish(harness.ctx, owned, "Done.", None, "{}")
    return ticket.message.id


async def stopped(harness: Harness) -> str:
    message_id, _ = await harness.working("Chart")
    harness.tick()
    await works.stop(harness.ctx, harness.account_id, harness.job(message_id)["work_id"])
    return message_id


async def failed(harness: Harness) -> str:
    message_id, [owned] = await harness.working("Chart")
    harness.tick()
    await jobs.fail(harness.ctx, owned, "No table.", "ValueError: x")
    return message_id


async def out_of_credits(harness: Harness) -> str:
    """Waits at its start, runs once there are credits, is stalled by a step, and expires."""
    balance = harness.one("SELECT balance FROM accounts")[0]
    _, [first] = await harness.working("Spend")
    await jobs.charge(harness.ctx, first, harness.call(first.job_id), balance, "")
    await jobs.finish(harness.ctx, first, "Spent.", None, "{}")
    message_id, _ = await harness.working("Chart")
    harness.tick()
    await credits.add(harness.ctx, harness.account_id, 1)
    harness.tick(8 * DAYS)
    await upkeep.expire_jobs(harness.ctx)
    return message_id


async def late(harness: Harness) -> str:
    """Ends after its watch, and is recovered."""
    message_id, [owned] = await harness.working("Chart")
    harness.tick(8 * DAYS)
    await upkeep.expire_jobs(harness.ctx)
    harness.tick()
    await jobs.finish(harness.ctx, owned, "Late.", None, "{}")
    now = harness.tick()
    signal = s.Recovered()
    await harness.ctx.db.write(
        lambda tx: record.apply_job(tx, harness.ctx, owned.job_id, signal, now)
    )
    return message_id


LIVES = (echo, question, broken, busy, job, follow_up, stopped, failed, out_of_credits, late)

SET_ENTRY = "UPDATE entries SET {} WHERE seq = {} AND message_id = ?"
SET_SIGNAL = "UPDATE signals SET {} WHERE name = '{}' AND owner IN (?, (SELECT MAX(id) FROM jobs))"


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
async def test_a_record_agrees_with_its_signals(harness: Harness, life: Life) -> None:
    message_id = await life(harness)
    found = await replaying.check(harness.ctx, message_id)
    assert found.problem is None, found.steps
    kept = [name for step in found.steps for name in step.sent]
    assert sorted(kept) == sorted(harness.names(message_id))
    lines = [step.seq for step in found.steps if step.seq is not None]
    assert lines == list(range(1, len(lines) + 1))
    for step in found.steps:
        assert replaying.as_text(step)


async def test_an_order_that_only_the_log_knows_is_found(harness: Harness) -> None:
    """Two signals of one moment, and one from a node whose clock is behind."""
    message_id, [owned] = await harness.working("Chart")
    harness.tick(-5)
    for step in "abcdefgh":
        await jobs.progress(harness.ctx, owned, harness.call(owned.job_id), step)
    harness.tick(-5)
    await jobs.finish(harness.ctx, owned, "Done.", None, "{}")
    found = await replaying.check(harness.ctx, message_id)
    assert found.problem is None
    assert [step.early for step in found.steps].count(True) > 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (SET_ENTRY.format("type = 'result'", 1), "no agent_reply entry of it: entry 1 is result"),
        (SET_ENTRY.format("body_json = '{}'", 2), "entry 2 (progress): step is None, expected"),
        (SET_ENTRY.format("at = at + 1", 3), "entry 3 has another time than the signal"),
        ("DELETE FROM entries WHERE seq = 4 AND message_id = ?", "the log has no result entry"),
        (SET_ENTRY.format("seq = 9", 4), "the log has no entry 4"),
        ("UPDATE messages SET status = 'failed' WHERE id = ?", "status is 'failed', expected"),
        ("UPDATE messages SET reply = 'No.' WHERE id = ?", "text is 'On it.', expected 'No.'"),
        ("UPDATE messages SET seq = 9 WHERE id = ?", "ends with entry 4, the message says 9"),
        ("UPDATE jobs SET state = 'failed' WHERE message_id = ?", "state of job exe_"),
        ("UPDATE jobs SET result = 'x' WHERE message_id = ?", "result of job exe_"),
        ("UPDATE events SET name = 'job.failed' WHERE message_id = ?", "follows from no signal"),
        (
            """UPDATE events SET data_json = '{"status": "failed"}' WHERE message_id = ?""",
            "says 'failed', expected",
        ),
        (SET_SIGNAL.format("name = 'Resumed'", "Finished"), "cannot take Resumed"),
        (SET_SIGNAL.format("name = 'Bought'", "Admitted"), "cannot read the signal Bought"),
        (SET_SIGNAL.format("body_json = '{'", "Progressed"), "cannot read the signal Progressed"),
        ("UPDATE messages SET reply = NULL WHERE id = ?", "no progress entry of it"),
        ("DELETE FROM signals WHERE name = 'Admitted'", "before a job that it started had begun"),
    ],
)
async def test_a_row_that_was_changed_is_named(harness: Harness, change: str, problem: str) -> None:
    message_id = await job(harness)
    params = (message_id,) * change.count("?")
    await harness.ctx.db.write(lambda tx: tx.execute(change, params))
    found = await replaying.check(harness.ctx, message_id)
    assert found.problem is not None
    assert problem in found.problem
    shown = replaying.as_dict(message_id, found)
    assert (shown["agrees"], shown["problem"]) == (False, found.problem)


async def test_a_message_without_its_signals_disagrees(harness: Harness) -> None:
    message_id = await broken(harness)
    await harness.ctx.db.write(lambda tx: tx.execute("DELETE FROM signals"))
    found = await replaying.check(harness.ctx, message_id)
    assert found.problem == "entry 1 (turn_failed) follows from no signal"


async def test_an_echo_needs_no_stored_signal(harness: Harness) -> None:
    message_id = await echo(harness)
    await harness.ctx.db.write(lambda tx: tx.execute("DELETE FROM signals"))
    found = await replaying.check(harness.ctx, message_id)
    assert found.problem is None
    assert [step.kept.name for step in found.steps] == ["TurnBegun", "TurnReplied"]


async def test_lines_that_were_let_go_are_not_missed(harness: Harness) -> None:
    message_id = await job(harness)
    harness.tick(8 * DAYS)
    await retention.entries(harness.ctx)
    assert harness.log(message_id) == []
    assert (await replaying.check(harness.ctx, message_id)).problem is None


async def test_signals_that_other_rows_imply_are_shown_without_rows(harness: Harness) -> None:
    first = await harness.begun()
    second = (await harness.send()).message.id
    await harness.end(first, "Gladly.", "Which one?")
    for message_id, expected in (
        (first.message.id, ["TurnBegun", "TurnReplied"]),
        (second, ["TurnQueued", "TurnBegun"]),
    ):
        built = await timeline.build(harness.ctx, message_id)
        signals = [line for line in built.lines if line.source == "signal"]
        assert [line.what for line in signals] == expected
        assert built.total == len(built.lines)
        kept = harness.all("SELECT name FROM signals WHERE owner = ? ORDER BY id", message_id)
        assert [row[0] for row in kept] == (expected if message_id == second else [])
    said = (await timeline.build(harness.ctx, first.message.id)).lines[1].facts
    assert said == {"reply": "Gladly.", "question": "Which one?", "delivered_sync": True}
