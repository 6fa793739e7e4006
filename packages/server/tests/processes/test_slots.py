"""Waiting for a place: whoever is cancelled leaves the queue, and no place gets lost."""

import asyncio

import pytest

from agentpost.processes.slots import FairSemaphore
from tests.waiting import PATIENCE


async def test_a_waiter_cancelled_as_its_turn_comes_loses_no_place() -> None:
    slots = FairSemaphore(1)

    async def brief() -> str:
        async with slots.slot("a"):
            return "done"

    async with slots.slot("b"):
        before, next_one = (asyncio.create_task(brief()) for _ in range(2))
        await asyncio.sleep(0)
        before.cancel()  # it has not run since when the place comes free
    assert await next_one == "done"
    with pytest.raises(asyncio.CancelledError):
        await before


async def test_a_waiter_cancelled_with_the_place_in_hand_gives_it_back() -> None:
    slots = FairSemaphore(1)

    async def brief() -> None:
        async with slots.slot("a"):
            pass

    async with slots.slot("b"):
        task = asyncio.create_task(brief())
        await asyncio.sleep(0)
    task.cancel()  # it was given the place a moment ago and has not run since
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE), slots.slot("c"):
        pass


async def test_a_place_comes_back_after_an_error() -> None:
    slots = FairSemaphore(1)
    with pytest.raises(LookupError):
        async with slots.slot("a"):
            raise LookupError
    async with asyncio.timeout(PATIENCE), slots.slot("a"):
        pass
