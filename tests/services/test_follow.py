"""Held reads by themselves: when they end, whatever the clock does (spec: getMessage)."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from agentpost.domain.idempotency import fingerprint
from agentpost.services import follow, turns
from agentpost.services.attachments import Attached
from agentpost.services.follow import Sent
from agentpost.services.messages import NewMessage
from agentpost.services.turns import TurnResult
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
    moves = [10.0, -3_600.0, 30.0]

    async def wait(_: MemoryWait, seconds: float) -> bool:
        """Every wait ends with a hint that says nothing; meanwhile the clock has moved."""
        lengths.append(seconds)
        desk.clock.advance(moves.pop(0))
        return True

    monkeypatch.setattr(MemoryWait, "wait", wait)
    message_id = (await desk.begun()).message.id
    async with asyncio.timeout(5):
        await held(desk, message_id)
    assert lengths == [40, 30, 30]


async def _post(desk: Desk, text: str = "hello") -> Sent:
    new = NewMessage(text, fingerprint(text, [], []))
    return await follow.send(desk.house, desk.caller, new, Attached(), _stays)


def _waits(desk: Desk, monkeypatch: pytest.MonkeyPatch, *moves: tuple[float, float]) -> list[float]:
    """Each wait takes its time, during which the clock is set back; the lengths that were asked for
    follow."""
    lengths, left = [], list(moves)

    async def wait(_: MemoryWait, seconds: float) -> bool:
        lengths.append(seconds)
        taken, set_back = left.pop(0)
        desk.clock.advance(taken)
        desk.clock.advance(-set_back)
        return False

    monkeypatch.setattr(MemoryWait, "wait", wait)
    return lengths


async def test_a_post_is_answered_in_time_although_the_clock_was_set_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the turn says after that was not in the answer (spec: Message event log
    agent_reply).
    """
    lengths = _waits(desk, monkeypatch, (10, 3_600), (20, 0))
    sent = await _post(desk)
    assert (lengths, sent.snapshot.message.status) == ([30, 20], "processing")
    ticket = desk.ticket(sent.snapshot.message.id)
    await turns.end(desk.house, ticket, TurnResult("too late", None, None))
    [line] = await desk.house.db.read(lambda tx: tx.all("SELECT body_json FROM entries"))
    assert json.loads(line[0])["delivered_sync"] is False


async def test_a_message_waits_no_longer_for_its_turn_when_the_clock_was_set_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.begun("first")
    lengths = _waits(desk, monkeypatch, (2, 3_600), (3, 0))
    sent = await _post(desk, "second")
    assert (lengths, sent.snapshot.message.reason) == ([5, 3], "agent_busy")
