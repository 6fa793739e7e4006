"""Whose message is stored next (design: More than can be served)."""

from __future__ import annotations

import asyncio

import pytest

from agentpost.clock import ManualClock
from agentpost.limits.intake import STORED_AT_ONCE, Intake

FLOOD = 100
_TURNS_OF_THE_LOOP = 10
"""Enough for whoever is waked to begin."""


class Storing:
    """Messages that wait for their turn, and are stored when the test says so."""

    def __init__(self) -> None:
        self.intake = Intake(ManualClock(), 1_000)
        self.begun: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._commits: list[asyncio.Event] = []

    async def arrive(self, account: str, many: int = 1) -> None:
        for _ in range(many):
            self.tasks.append(asyncio.create_task(self._store(account)))
        await asyncio.sleep(0)

    async def _store(self, account: str) -> None:
        async def store() -> None:
            self.begun.append(account)
            committed = asyncio.Event()
            self._commits.append(committed)
            await committed.wait()

        await self.intake.store(account, store, refusing=True)

    async def commit(self) -> None:
        """What is being stored is committed together, and what comes next begins."""
        group, self._commits = self._commits, []
        for committed in group:
            committed.set()
        for _ in range(_TURNS_OF_THE_LOOP):
            await asyncio.sleep(0)

    @property
    def waiting(self) -> int:
        return sum(not task.done() for task in self.tasks)


async def test_a_flood_of_one_account_holds_up_no_other() -> None:
    storing = Storing()
    await storing.arrive("flooding", FLOOD)
    assert len(storing.begun) == STORED_AT_ONCE - 1, "one place is kept for another account"
    await storing.arrive("other")
    assert storing.begun[-1] == "other", "at once, before all that came earlier"
    await storing.arrive("other", 2)
    storing.begun.clear()
    await storing.commit()
    assert storing.begun[:3].count("other") == 2, "with the next commit"
    while storing.waiting:
        await storing.commit()
    assert not storing.intake.is_filling


async def test_whoever_gives_up_leaves_no_place_taken() -> None:
    storing = Storing()
    await storing.arrive("a", FLOOD)
    for task in storing.tasks:
        task.cancel()
    await asyncio.gather(*storing.tasks, return_exceptions=True)
    storing.begun.clear()
    await storing.arrive("b", FLOOD)
    assert len(storing.begun) == STORED_AT_ONCE - 1


@pytest.mark.parametrize(("waiting", "many"), [(428, False), (429, True)])
async def test_who_has_many_is_known(waiting: int, many: bool) -> None:
    storing = Storing()
    await storing.arrive("a", waiting)
    assert (storing.intake.is_filling, storing.intake.has_many("a")) == (many, many)
    assert not storing.intake.has_many("b")
    for task in storing.tasks:
        task.cancel()
    await asyncio.gather(*storing.tasks, return_exceptions=True)
