"""A look that found nothing is not repeated until something can be due, and then at once."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.times import SECOND
from agentpost.tasks.idle_polls import AHEAD_SECONDS
from tests.harness.driver import ManualHarness
from tests.waiting import eventually_async


class Dues:
    """Rows by the time at which they are due; ``looks`` are the times that were asked for."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.looks = 0

    def find(self, _: Tx, at: int) -> list[int]:
        self.looks += 1
        return [row for row in self.rows if row <= at]


async def rests(at: ManualHarness, dues: Dues) -> bool:
    """Look until it rests; whether it does."""
    for _ in range(3):
        before = dues.looks
        assert await at.ctx.resting.due("dues", dues.find) == []
        if dues.looks == before:
            return True
    return False


async def own_commit(at: ManualHarness, _: Path) -> None:
    await at.ctx.db.write(lambda tx: meta.put(tx, "some", "value"))


async def external_commit(at: ManualHarness, folder: Path) -> None:
    (path,) = folder.rglob("*.db")
    before = at.ctx.db.changes
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO meta (name, value) VALUES ('some', 'value')")
    other.close()
    await eventually_async(lambda: at.ctx.db.changes != before)


async def time(at: ManualHarness, _: Path) -> None:
    at.clock.advance(AHEAD_SECONDS)


async def clock_set_back(at: ManualHarness, _: Path) -> None:
    at.clock.set(-3600)


@pytest.mark.parametrize("change", [own_commit, external_commit, time, clock_set_back])
async def test_a_look_rests_until(
    at: ManualHarness, tmp_path: Path, change: Callable[[ManualHarness, Path], Awaitable[None]]
) -> None:
    dues = Dues()
    assert await rests(at, dues)
    await change(at, tmp_path)
    looks = dues.looks
    await at.ctx.resting.due("dues", dues.find)
    assert dues.looks > looks


async def test_what_falls_due_within_sight_is_found_in_time(at: ManualHarness) -> None:
    dues = Dues()
    dues.rows = [at.clock.now() + 2 * SECOND]
    assert not await rests(at, dues)
    at.clock.advance(2)
    assert await at.ctx.resting.due("dues", dues.find) == dues.rows
