"""Held reads by themselves: when they end, whatever the clock does (spec: getMessage)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agentpost.services import follow
from agentpost.wakeups.base import Wait
from agentpost.wakeups.memory import MemoryWait
from tests.services.house import Desk

Held = Callable[[Desk, str], Awaitable[object]]


def _stays(wait: Wait) -> None:
    """The client does not hang up."""


async def _read(desk: Desk, message_id: str) -> object:
    return await follow.until_changed(desk.house, desk.caller, message_id, 40, None, _stays)


async def _log(desk: Desk, message_id: str) -> object:
    return await follow.events(desk.house, desk.caller, message_id, None, 40, _stays)


@pytest.mark.parametrize("held", [_read, _log])
async def test_a_clock_that_is_set_back_does_not_lengthen_a_wait(
    desk: Desk, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[float] = []
    moves = [10.0, -3_600.0, 40.0]

    async def wait(_: MemoryWait, seconds: float) -> bool:
        """Every wait ends with a hint that says nothing; meanwhile the clock has moved."""
        lengths.append(seconds)
        desk.clock.advance(moves.pop(0))
        return True

    monkeypatch.setattr(MemoryWait, "wait", wait)
    message_id = (await desk.begun()).message.id
    async with asyncio.timeout(5):
        await held(desk, message_id)
    assert lengths == [40, 30, 40]
