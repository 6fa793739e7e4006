"""What has to hold when a history has come to its end, seen from outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentpost.db.session import Row
from agentpost.messages.rules import TurnState
from tests.simulation.world import World, event_of

if TYPE_CHECKING:
    from tests.simulation.history import History

CREDIT = 1_000_000
OPEN_TURNS = "SELECT id, turn_state FROM messages WHERE turn_state IN ('waiting', 'running')"
OPEN_JOBS = "SELECT id, state FROM jobs WHERE state IN ('running', 'queued')"
OPEN_DELIVERIES = "SELECT event_id, status FROM deliveries WHERE status = 'pending'"
OPEN_SCHEDULES = "SELECT id, status FROM schedules WHERE status = 'active'"
OPEN = (OPEN_TURNS, OPEN_JOBS, OPEN_DELIVERIES, OPEN_SCHEDULES)


def unfinished(world: World) -> list[Row]:
    """What is still open: turns, jobs, deliveries, schedules."""
    return [row for sql in OPEN for row in world.rows(sql)]


def only_waits_for_credits(world: World) -> bool:
    """Whether everything open that runs is parked."""
    return {row[1] for row in unfinished(world)} <= {"queued", "pending"} and bool(
        world.rows(OPEN_JOBS)
    )


def only_waits_for_retries(world: World) -> bool:
    """Whether nothing is open but webhooks."""
    return all(row[1] == "pending" for row in unfinished(world))


def check_logs_only_grow(world: World, seen: dict[str, list[Row]]) -> None:
    """No entry that was there is gone or another."""
    for (message_id,) in world.rows("SELECT id FROM messages"):
        sql = "SELECT seq, type, at, job_id, body_json FROM entries WHERE message_id = ?"
        rows = world.rows(f"{sql} ORDER BY seq", message_id)
        before = seen.get(message_id, [])
        assert rows[: len(before)] == before, f"the log of {message_id} was changed"
        seen[message_id] = rows
    for message_id in seen:
        assert world.rows("SELECT 1 FROM messages WHERE id = ?", message_id), "a message is gone"


def check(history: History) -> None:
    """Raises `AssertionError` naming what does not hold. `Watch` has checked poll, log, events,
    ledger and balance before."""
    world = history.world
    _check_acknowledged(history)
    _check_turns(world)
    _check_jobs(world)
    _check_steps(world)
    _check_deliveries(world)
    _check_schedules(world)


def _check_acknowledged(history: History) -> None:
    """What a client was told of is there; one key and body stand for one message."""
    keyed: dict[tuple[str, str], str] = {}
    for each in history.acknowledged:
        found = history.world.rows("SELECT text FROM messages WHERE id = ?", each.message_id)
        assert found == [(each.text,)], f"{each.message_id} was answered and is lost"
        if each.key is not None:
            before = keyed.setdefault((each.key, each.text), each.message_id)
            assert before == each.message_id, f"{each.key} gave {before} and {each.message_id}"
    sql = "SELECT idempotency_key FROM messages WHERE idempotency_key IS NOT NULL"
    keys = [row[0] for row in history.world.rows(sql)]
    assert len(keys) == len(set(keys)), "two messages have one key"


def _check_turns(world: World) -> None:
    """A turn that replied has done what its plan says, each of it once."""
    sql = "SELECT id, text, turn_state FROM messages"
    for message_id, text, state in world.rows(sql):
        plan = json.loads(text)
        started = "SELECT COUNT(*) FROM jobs WHERE message_id = ?"
        jobs = world.rows(started, message_id)[0][0]
        calls = "SELECT COUNT(*) FROM calls WHERE owner = ? AND state = 'done'"
        if TurnState(state) is TurnState.ENDED:
            assert jobs == len(plan.get("jobs", [])), f"{message_id} has {jobs} jobs"
            made = world.rows(calls, message_id)[0][0]
            least = plan.get("steps", 0) + len(plan.get("jobs", [])) + plan.get("write", 0)
            assert made == 0 or least <= made <= least + 2, f"{message_id} recorded {made} calls"
        else:
            assert jobs <= len(plan.get("jobs", []))


def _check_jobs(world: World) -> None:
    """A job that completed has paid what its steps cost, each once."""
    for job_id, state, args, used in world.rows(
        "SELECT id, state, args_json, credits_used FROM jobs"
    ):
        plan = json.loads(args)["plan"]
        prices = [value for name, value in plan if name in {"step", "write"}]
        later = [value for name, value in plan if name == "charge"]
        later += [1 for name, _ in plan if name == "charging"]
        fixed, most = sum(prices) * CREDIT, (sum(prices) + sum(later)) * CREDIT
        if state == "completed":
            assert fixed <= used <= most, f"{job_id} paid {used}, its plan {fixed} to {most}"
            assert used == most or later, f"{job_id} paid {used} of {most}"
        assert used <= most, f"{job_id} paid {used} of {most}"


def _check_steps(world: World) -> None:
    """A recorded step has run; a file that was written has its bytes."""
    for (blob,) in world.rows("SELECT blob FROM files"):
        assert blob in world.storage.blobs, f"{blob} is listed and has no bytes"
    assert all(times >= 1 for times in world.effects.values())


def _check_deliveries(world: World) -> None:
    """Each event arrived, whole; it is dropped only with an endpoint that failed for days."""
    off = world.count("SELECT COUNT(*) FROM endpoints WHERE disabled_at IS NOT NULL")
    for event_id, status, name, data in world.rows(
        "SELECT d.event_id, d.status, e.name, e.data_json"
        " FROM deliveries d JOIN events e ON e.id = d.event_id"
    ):
        received = world.received.get(event_id)
        if status == "delivered":
            assert received is not None, f"{event_id} never arrived"
            assert received.accepted, f"{event_id} was refused each time"
        else:
            assert (status, bool(off)) == ("dropped", True), f"{event_id} is {status}"
        for body in received.bodies if received else ():
            assert event_of(body)["type"] == name
            assert event_of(body)["data"].keys() == json.loads(data).keys()


def _check_schedules(world: World) -> None:
    """A planned run was sent once."""
    for schedule_id, outcome, message_id in world.rows(
        "SELECT id, last_outcome, last_message_id FROM schedules"
    ):
        assert outcome == "sent", f"{schedule_id} ended {outcome}"
        assert world.rows("SELECT 1 FROM messages WHERE id = ?", message_id)
