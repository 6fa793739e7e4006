"""One row that fails holds up none behind it, and is tried again."""

from typing import Any

import pytest

from agentpost.db.session import Tx
from agentpost.nodes import upkeep
from agentpost.operations import doctor
from agentpost.record import writer
from agentpost.retention import actions as retention
from agentpost.tasks import sweeps
from agentpost.turns import actions as turns
from tests.harness.driver import DAY, ManualHarness


class Rows:
    """Rows that are due until they are done; some cannot be done."""

    def __init__(self, count: int, broken: set[str]) -> None:
        self.due = [f"{n}" for n in range(count)]
        self.broken = broken
        self.tried: list[str] = []

    def find(self, _: Tx, __: int, limit: int) -> list[str]:
        return self.due[:limit]

    async def do(self, row: str) -> None:
        self.tried.append(row)
        if row in self.broken:
            raise RuntimeError(row)
        self.due.remove(row)


async def run(at: ManualHarness, rows: Rows, chunk: int = 3) -> list[str]:
    """One sweep; what it tried."""
    rows.tried = []
    await sweeps.sweep(at.ctx, "rows", rows.find, rows.do, chunk=chunk)
    return rows.tried


async def test_a_row_that_fails_is_put_off_and_the_rest_goes_on(at: ManualHarness) -> None:
    rows = Rows(6, {"0", "1", "2"})
    assert await run(at, rows) == ["0", "1", "2"]
    assert await run(at, rows) == ["3", "4", "5"]
    assert await run(at, rows) == []
    at.clock.advance(sweeps.AGAIN_SECONDS)
    rows.broken = {"1"}
    assert await run(at, rows) == ["0", "1", "2"]
    at.clock.advance(sweeps.AGAIN_SECONDS)
    assert await run(at, rows) == [], "the second time it waits twice as long"
    at.clock.advance(sweeps.AGAIN_SECONDS)
    rows.broken = set()
    assert await run(at, rows) == ["1"]
    assert at.ctx.put_off == {"rows": {}}


async def test_it_is_tried_again_within_ten_minutes_for_ever(at: ManualHarness) -> None:
    rows = Rows(1, {"0"})
    for _ in range(100):
        assert await run(at, rows) == ["0"]
        at.clock.advance(sweeps.AGAIN_SECONDS_MAX)


async def test_a_clock_that_is_set_back_puts_nothing_off_for_longer(at: ManualHarness) -> None:
    rows = Rows(1, {"0"})
    await run(at, rows)
    at.clock.advance(-DAY)
    assert await run(at, rows) == []
    at.clock.advance(sweeps.AGAIN_SECONDS)
    assert await run(at, rows) == ["0"]


async def test_a_row_that_is_gone_is_forgotten(at: ManualHarness) -> None:
    rows = Rows(2, {"0"})
    await run(at, rows)
    rows.due = []
    await run(at, rows)
    assert at.ctx.put_off == {"rows": {}}


async def test_when_all_fail_the_sweep_ends(at: ManualHarness) -> None:
    """The database went away: no use in waiting for it a hundred times."""
    rows = Rows(50, {f"{n}" for n in range(50)})
    assert len(await run(at, rows, chunk=50)) == sweeps.FAILURES_MAX


# --- the sweeps -----------------------------------------------------------------------------------
async def test_one_job_that_cannot_expire(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [(await at.working(f"{n}"))[1].job_id for n in range(3)]
    real = writer.apply_job

    def fails(tx: Tx, ctx: Any, job_id: str, *rest: Any, **more: Any) -> Any:
        if job_id == jobs[0]:
            raise RuntimeError(job_id)
        return real(tx, ctx, job_id, *rest, **more)

    at.clock.advance(7 * DAY + 11)
    monkeypatch.setattr(writer, "apply_job", fails)
    await upkeep.expire_jobs(at.ctx)
    assert await at.rows("SELECT id FROM jobs WHERE state = 'running'") == [(jobs[0],)]
    assert [found.id for found in await doctor.examine(at.ctx)] == [jobs[0]]
    monkeypatch.undo()
    at.clock.advance(sweeps.AGAIN_SECONDS)
    await upkeep.expire_jobs(at.ctx)
    assert await at.count("jobs", "state = 'running'") == 0


async def test_one_message_that_cannot_give_up(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await at.accept("runs")
    waiting = [(await at.accept(f"{n}")).message.id for n in range(3)]
    real = turns.expire_wait

    async def fails(ctx: Any, message_id: str) -> None:
        if message_id == waiting[0]:
            raise RuntimeError(message_id)
        await real(ctx, message_id)

    at.clock.advance(6)
    monkeypatch.setattr(turns, "expire_wait", fails)
    await upkeep.expire_waiting_turns(at.ctx)
    assert await at.rows("SELECT id FROM messages WHERE turn_state = 'waiting'") == [(waiting[0],)]


async def test_a_turn_that_cannot_be_abandoned(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = (await at.accept("runs")).message.id

    async def fails(ctx: Any, message_id: str) -> None:
        raise RuntimeError(message_id)

    settings = at.ctx.settings
    monkeypatch.setattr(turns, "abandon", fails)
    at.clock.advance(settings.turn_limit_seconds + settings.sweep_seconds + 10)
    await upkeep.abandon_turns(at.ctx)
    assert await doctor.examine(at.ctx) == []
    at.clock.advance(1)
    assert [found.id for found in await doctor.examine(at.ctx)] == [stuck]
    monkeypatch.undo()
    at.clock.advance(sweeps.AGAIN_SECONDS)
    await upkeep.abandon_turns(at.ctx)
    assert await doctor.examine(at.ctx) == []


async def test_one_message_that_cannot_be_purged(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await at.say(f"{n}") for n in range(3)]
    real = retention.purge_message

    async def fails(ctx: Any, message_id: str) -> None:
        if message_id == made[0]:
            raise RuntimeError(message_id)
        await real(ctx, message_id)

    at.clock.advance(15 * DAY + 1)
    monkeypatch.setattr(retention, "purge_message", fails)
    assert await retention.messages(at.ctx) is None
    assert await at.rows("SELECT id FROM messages") == [(made[0],)]
    assert [found.id for found in await doctor.examine(at.ctx)] == [made[0]]
    monkeypatch.undo()
    await retention.messages(at.ctx)
    assert await at.count("messages") == 0
