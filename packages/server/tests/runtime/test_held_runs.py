"""Runs that are submitted while none may begin."""

import asyncio
from collections.abc import Iterator

import pytest

from agentpost.runtime.runs import Run, Runs
from agentpost.threads.loop import AgentLoop
from tests.waiting import PATIENCE


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    made = AgentLoop()
    made.start()
    yield made
    made.stop(30)


async def test_they_begin_when_they_are_released(loop: AgentLoop) -> None:
    """They are known meanwhile, and can be ended."""
    begun: list[str] = []

    async def work(run: Run) -> None:
        begun.append(run.owner)

    async def looked() -> list[str]:
        return list(begun)

    runs = Runs(loop)
    runs.hold()
    for owner in ("msg_1", "msg_2"):
        runs.submit(owner, 1, work)
    ended = [run.submission.ended for run in runs.open() if run.submission is not None]
    runs.cancel("msg_2")
    assert await loop.run(looked()) == []
    runs.release()
    runs.submit("msg_3", 1, work)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*map(asyncio.wrap_future, ended))
        while len(await loop.run(looked())) < 2:
            pass
    assert sorted(begun) == ["msg_1", "msg_3"]
    assert await runs.interrupt(60) == []
