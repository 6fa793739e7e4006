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
from agentpost.uploads import actions as uploads, rows as upload_rows
from agentpost.uploads.actions import NewUpload
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
async def job_made(at: ManualHarness, n: int) -> str:
    return (await at.working(f"{n}"))[1].job_id


async def waiting_made(at: ManualHarness, n: int) -> str:
    if not n:
        await at.accept("runs")
    return (await at.accept(f"{n}")).message.id


async def message_made(at: ManualHarness, n: int) -> str:
    return await at.say(f"{n}")


async def upload_made(at: ManualHarness, n: int) -> str:
    new = NewUpload(f"{n}.csv", 1, None)
    return (await uploads.create(at.ctx, at.caller.account_id, new))[0].id


SWEEPS: dict[str, tuple[Any, ...]] = {
    # how a row is made, when it is due, what does one, what does all, what is left, whether the
    # doctor tells
    "a job that expires": (
        *(job_made, 7 * DAY + 11, writer, "apply_job", upkeep.expire_jobs),
        *("SELECT id FROM jobs WHERE state = 'running'", True),
    ),
    "a message that gives up": (
        *(waiting_made, 6, turns, "expire_wait", upkeep.expire_waiting_turns),
        *("SELECT id FROM messages WHERE turn_state = 'waiting'", False),
    ),
    "a message that is purged": (
        *(message_made, 15 * DAY + 1, retention, "purge_message", retention.messages),
        *("SELECT id FROM messages", True),
    ),
    "an upload": (
        *(upload_made, DAY + 400, upload_rows, "delete", uploads.sweep),
        *("SELECT id FROM uploads", False),
    ),
}


@pytest.mark.parametrize("name", SWEEPS)
async def test_one_that_cannot_be_swept_holds_up_none_and_is_told(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make, due_seconds, module, function, sweep_all, left, is_told = SWEEPS[name]
    made = [await make(at, n) for n in range(3)]
    real = getattr(module, function)

    def fails(*given: Any, **more: Any) -> Any:
        if made[0] in given:
            raise RuntimeError(made[0])
        return real(*given, **more)

    at.clock.advance(due_seconds)
    monkeypatch.setattr(module, function, fails)
    await sweep_all(at.ctx)
    assert await at.rows(left) == [(made[0],)]
    assert [found.id for found in await doctor.examine(at.ctx)] == made[:1] * is_told
    monkeypatch.undo()
    at.clock.advance(sweeps.AGAIN_SECONDS)
    await sweep_all(at.ctx)
    assert await at.rows(left) == []


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
