"""Runs of schedules, on each database: once, whoever sends them, late or after a crash."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentpost.accounts import actions as accounts
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.times import MINUTE
from agentpost.messages import sending
from agentpost.schedules import actions as schedules
from agentpost.schedules.actions import NewSchedule
from agentpost.schedules.rules import Missed, ScheduleRecord
from agentpost.webhooks import endpoints
from tests.harness.context import Harness, open_harness
from tests.harness.databases import ON_SQLITE

HOUR, DAY = 3_600, 86_400


@pytest.fixture
async def harness(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Harness]:
    """A context of one account, on each database."""
    async with open_harness(tmp_path, postgres_url=schema_url, schedules_max=3) as made:
        yield made


async def hourly(harness: Harness, missed: Missed = Missed.SKIP, **message: Any) -> str:
    """A schedule for each full hour; its id."""
    given = {"message": "the report", **message}
    new = NewSchedule("0 * * * *", None, "UTC", missed, given)
    return (await schedules.create(harness.ctx, harness.caller, new)).id


async def read(harness: Harness, schedule_id: str) -> ScheduleRecord:
    return await schedules.get(harness.ctx, harness.caller.key_id, schedule_id)


def message_texts(harness: Harness) -> list[str]:
    """The texts of all messages."""
    return [row[0] for row in harness.all("SELECT text FROM messages ORDER BY id")]


def until(harness: Harness, at: int | None, more: float = 1) -> None:
    """The clock moves there."""
    assert at is not None
    harness.clock.advance((at - harness.clock.now()) / 1_000_000 + more)


@pytest.mark.rule("Additions createSchedule-once")
async def test_a_run_is_sent_once_however_many_send_it(harness: Harness) -> None:
    schedule_id = await hourly(harness, metadata={"a": "b"}, conversation="zoe")
    planned = (await read(harness, schedule_id)).next_at
    until(harness, planned)
    await asyncio.gather(*(schedules.run_due(harness.ctx) for _ in range(4)))
    found = await read(harness, schedule_id)
    assert message_texts(harness) == ["the report"]
    assert (found.last_planned_at, found.last_outcome) == (planned, "sent")
    assert found.next_at == (planned or 0) + 60 * MINUTE
    assert found.last_message_id is not None
    shown = harness.view(found.last_message_id)
    assert shown["metadata"] == {"a": "b"}
    await schedules.run_due(harness.ctx)
    assert message_texts(harness) == ["the report"], "the next hour has not come"


@pytest.mark.rule("Additions createSchedule-once")
@pytest.mark.parametrize("late", [1, 3 * HOUR], ids=["at once", "hours later"])
async def test_a_run_that_was_sent_before_a_crash_is_not_sent_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    schedule_id = await hourly(harness)
    until(harness, (await read(harness, schedule_id)).next_at)
    post = sending.post

    async def dies(*arguments: Any) -> Any:
        await post(*arguments)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(sending, "post", dies)
        with pytest.raises(SystemExit):
            await schedules.run_due(harness.ctx)
    assert message_texts(harness) == ["the report"]
    harness.clock.advance(late)
    await schedules.run_due(harness.ctx)
    assert message_texts(harness) == ["the report"]
    found = await read(harness, schedule_id)
    assert (found.last_outcome, found.missed_runs) == ("sent", 0)


@ON_SQLITE
@pytest.mark.rule("Additions createSchedule-missed")
@pytest.mark.parametrize(
    ("missed", "late", "outcome", "count"),
    [
        pytest.param(Missed.SKIP, 3 * HOUR + 600, "missed", 4, id="skipped and told"),
        pytest.param(Missed.RUN_ONCE, 3 * HOUR + 600, "sent", 3, id="made up for by one"),
        pytest.param(Missed.SKIP, 2 * HOUR + 60, "sent", 2, id="the last one is not late"),
    ],
)
async def test_missed_runs(
    harness: Harness, missed: Missed, late: float, outcome: str, count: int
) -> None:
    schedule_id = await hourly(harness, missed)
    until(harness, (await read(harness, schedule_id)).next_at, more=late)
    await schedules.run_due(harness.ctx)
    found = await read(harness, schedule_id)
    assert message_texts(harness) == (["the report"] if outcome == "sent" else [])
    assert (found.last_outcome, found.missed_runs) == (outcome, count)
    assert found.next_at is not None
    assert found.next_at > harness.clock.now()


@ON_SQLITE
@pytest.mark.rule("Additions updateSchedule")
async def test_a_paused_schedule_misses_nothing(harness: Harness) -> None:
    schedule_id = await hourly(harness)
    await schedules.pause(harness.ctx, harness.caller.key_id, schedule_id, True)
    harness.clock.advance(DAY)
    await schedules.run_due(harness.ctx)
    found = await schedules.pause(harness.ctx, harness.caller.key_id, schedule_id, False)
    assert (found.status, found.missed_runs, found.last_outcome) == ("active", 0, None)
    until(harness, found.next_at)
    await schedules.run_due(harness.ctx)
    assert message_texts(harness) == ["the report"]


@ON_SQLITE
@pytest.mark.rule("Additions createSchedule-refused")
async def test_a_refused_run_is_told_and_the_next_one_is_sent(harness: Harness) -> None:
    endpoint_id = await harness.listen()
    schedule_id = await hourly(harness, webhook_endpoint_id=endpoint_id)
    await endpoints.delete(harness.ctx, harness.account_id, endpoint_id)
    until(harness, (await read(harness, schedule_id)).next_at)
    await schedules.run_due(harness.ctx)
    found = await read(harness, schedule_id)
    assert found.last_outcome == "refused"
    assert (found.last_error or "").startswith("not_found: ")
    assert found.status == "active"


@ON_SQLITE
@pytest.mark.rule("Additions createSchedule-refused")
async def test_a_schedule_ends_with_its_key(harness: Harness) -> None:
    schedule_id = await hourly(harness)
    until(harness, (await read(harness, schedule_id)).next_at)
    await accounts.revoke_key(harness.ctx, harness.caller.key_id)
    await schedules.run_due(harness.ctx)
    found = await read(harness, schedule_id)
    assert (found.status, found.next_at, found.last_outcome) == ("ended", None, "refused")
    assert message_texts(harness) == []


@pytest.mark.rule("Additions createSchedule-limit")
async def test_an_account_has_a_limit_of_schedules(harness: Harness) -> None:
    results = await asyncio.gather(*(hourly(harness) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(one, Refusal) for one in results) == 2
    newest, more = await schedules.page(harness.ctx, harness.caller.key_id, None, 2)
    assert more
    rest, more = await schedules.page(harness.ctx, harness.caller.key_id, newest[-1].id, 2)
    assert (len(rest), more) == (1, False)


@pytest.mark.rule("Additions createSchedule-limit")
async def test_what_has_ended_takes_no_place(harness: Harness) -> None:
    ctx, caller = harness.ctx, harness.caller
    at = harness.clock.now() + 60 * MINUTE
    once = NewSchedule(None, at, "UTC", Missed.SKIP, {"message": "once"})
    ended = [(await schedules.create(ctx, caller, once)).id for _ in range(3)]
    until(harness, at)
    await schedules.run_due(ctx)
    kept = [await hourly(harness) for _ in range(3)]
    found, _ = await schedules.page(ctx, caller.key_id, None, 10)
    assert {one.id for one in found} == {*ended, *kept}, "what has ended can be read for a while"
    with pytest.raises(Refusal):
        await hourly(harness)

    await schedules.delete(ctx, caller.key_id, kept.pop())
    harness.clock.advance(ctx.settings.message_retention_seconds)
    kept.append(await hourly(harness))
    found, _ = await schedules.page(ctx, caller.key_id, None, 10)
    assert {one.id for one in found} == set(kept), "what ended long ago is deleted"


@pytest.mark.rule("Additions createSchedule-limit")
async def test_schedules_of_an_ended_key_take_no_place(harness: Harness) -> None:
    for _ in range(3):
        await schedules.pause(harness.ctx, harness.caller.key_id, await hourly(harness), True)
    await accounts.revoke_key(harness.ctx, harness.caller.key_id)
    made_key = await accounts.create_key(harness.ctx, harness.account_id, "other")
    other = Caller(made_key.record.id, "other", harness.account_id, harness.caller.rules)
    new = NewSchedule("0 * * * *", None, "UTC", Missed.SKIP, {"message": "the report"})
    made = await schedules.create(harness.ctx, other, new)
    assert harness.all("SELECT id FROM schedules") == [(made.id,)]


@ON_SQLITE
@pytest.mark.rule("Additions updateSchedule")
@pytest.mark.parametrize(
    ("missed", "late", "outcome"),
    [(Missed.SKIP, 0, None), (Missed.SKIP, HOUR, "missed"), (Missed.RUN_ONCE, HOUR, "sent")],
)
async def test_a_single_time_can_be_paused(
    harness: Harness, missed: Missed, late: int, outcome: str | None
) -> None:
    at = harness.clock.now() + 60 * MINUTE
    new = NewSchedule(None, at, "UTC", missed, {"message": "once"})
    schedule_id = (await schedules.create(harness.ctx, harness.caller, new)).id
    paused = await schedules.pause(harness.ctx, harness.caller.key_id, schedule_id, True)
    assert (paused.status, paused.next_at) == ("paused", at)
    if late:
        until(harness, at, more=late)
    await schedules.run_due(harness.ctx)
    assert message_texts(harness) == []
    going = await schedules.pause(harness.ctx, harness.caller.key_id, schedule_id, False)
    assert (going.status, going.next_at) == ("active", at)
    await schedules.run_due(harness.ctx)
    found = await read(harness, schedule_id)
    assert found.last_outcome == outcome
    assert message_texts(harness) == (["once"] if outcome == "sent" else [])


@pytest.mark.rule("Additions createSchedule-once")
async def test_a_run_that_another_node_sent_is_not_told_as_refused(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule_id = await hourly(harness)
    until(harness, (await read(harness, schedule_id)).next_at)
    post = sending.post

    async def refused_here(*arguments: Any) -> Any:
        await post(*arguments)
        raise Refusal(ErrorCode.RATE_LIMITED, "The other node's message was the last one.")

    monkeypatch.setattr(sending, "post", refused_here)
    await schedules.run_due(harness.ctx)
    found = await read(harness, schedule_id)
    assert message_texts(harness) == ["the report"]
    assert (found.last_outcome, found.last_error) == ("sent", None)
    assert [found.last_message_id] == [row[0] for row in harness.all("SELECT id FROM messages")]
