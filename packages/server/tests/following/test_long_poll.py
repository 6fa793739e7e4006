"""Held reads by themselves: when they end, whatever the clock does (spec: getMessage), also of an
account's events and for other protocols (docs/doors.md).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from agentpost.domain.times import seconds
from agentpost.events import actions as events
from agentpost.events.actions import EventFilter
from agentpost.following import followers, long_polls
from agentpost.following.followers import nobody_hangs_up
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.record.records import Snapshot
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from agentpost.wakeups.base import Wait
from tests.harness.context import Harness
from tests.waiting import PATIENCE

Held = Callable[[Harness, str], Awaitable[object]]


def _stays(wait: Wait) -> None:
    """The client does not hang up."""


async def _read(harness: Harness, message_id: str) -> object:
    return await long_polls.until_changed(harness.ctx, harness.caller, message_id, 40, None, _stays)


async def _log(harness: Harness, message_id: str) -> object:
    return await long_polls.Log(harness.ctx, harness.caller, message_id).events(None, 40, _stays)


@pytest.mark.parametrize("held", [_read, _log])
async def test_a_clock_that_is_set_back_does_not_lengthen_a_wait(
    harness: Harness, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[float] = []
    moves = [10.0, -3_600.0, 30.0]

    async def wait(_: Wait, seconds: float) -> bool:
        """Every wait ends with a hint that says nothing; meanwhile the clock has moved."""
        lengths.append(seconds)
        harness.clock.advance(moves.pop(0))
        return True

    monkeypatch.setattr(Wait, "wait", wait)
    message_id = (await harness.begin_turn()).message.id
    async with asyncio.timeout(PATIENCE):
        await held(harness, message_id)
    assert lengths == [40, 30, 30]


async def _post(harness: Harness, text: str = "hello") -> Snapshot:
    new = NewMessage(text)
    admitted = await sending.admit(harness.ctx, harness.caller, new)
    sent, is_new = await sending.send(harness.ctx, harness.caller, admitted, _stays)
    assert is_new
    return sent


def _waits(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, *moves: tuple[float, float]
) -> list[float]:
    """Each wait takes its time, during which the clock is set back; the lengths that were asked for
    follow."""
    lengths, left = [], list(moves)

    async def wait(_: Wait, seconds: float) -> bool:
        lengths.append(seconds)
        taken, set_back = left.pop(0)
        harness.clock.advance(taken)
        harness.clock.advance(-set_back)
        return False

    monkeypatch.setattr(Wait, "wait", wait)
    return lengths


async def test_a_post_is_answered_in_time_although_the_clock_was_set_back(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the turn says after that was not in the answer (spec: Message event log
    agent_reply).
    """
    lengths = _waits(harness, monkeypatch, (10, 3_600), (20, 0))
    sent = await _post(harness)
    assert (lengths, sent.message.status) == ([30, 20], "processing")
    ticket = harness.ticket(sent.message.id)
    await turns.end(harness.ctx, ticket, TurnResult("too late", None, None))
    [line] = await harness.ctx.db.read(lambda tx: tx.all("SELECT body_json FROM entries"))
    assert json.loads(line[0])["delivered_sync"] is False


async def test_a_message_waits_no_longer_for_its_turn_when_the_clock_was_set_back(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.begin_turn("first")
    lengths = _waits(harness, monkeypatch, (2, 3_600), (3, 0))
    sent = await _post(harness, "second")
    assert (lengths, sent.message.reason) == ([5, 3], "agent_busy")


@pytest.mark.rule("Additions listEvents-5")
async def test_the_first_call_gets_its_cursor_at_once(harness: Harness) -> None:
    """The clock of the harness stands: what is held stays held."""
    ctx, caller = harness.ctx, harness.caller

    begins = await events.begin(ctx, caller, None)
    wanted = EventFilter()
    read = events.page(ctx, caller, begins, wanted, 10, 0, nobody_hangs_up)
    page = await asyncio.wait_for(read, 60)
    assert (page.events, page.has_more) == ([], False)


async def test_a_message_is_given_out_now_and_then_and_when_the_time_is_over(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[float] = []

    async def wait(_: Wait, length: float) -> bool:
        lengths.append(length)
        harness.clock.advance(length)
        return False

    monkeypatch.setattr(Wait, "wait", wait)
    monkeypatch.setattr(followers, "_PAUSE_SECONDS", 0)
    message_id = (await harness.begin_turn()).message.id
    until = harness.clock.passed() + seconds(40)
    followed = followers.follow(harness.ctx, harness.caller, message_id, until=until)
    statuses = [moment.snapshot.message.status async for moment in followed]
    assert (lengths, statuses) == ([15, 15, 10], ["processing"] * 4)
