"""Following a message for other protocols: when it ends (docs/doors.md)."""

import pytest

from agentpost.domain.times import seconds
from agentpost.following import followers
from agentpost.wakeups.base import Wait
from tests.harness.context import Harness


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
