"""Runs that are submitted while none may begin, that a process has died of, or whose end cannot be
written yet (design: Faults of our own; Agent processes)."""

import asyncio
from collections.abc import Iterator

import pytest

from agentpost.domain.errors import Fenced
from agentpost.runtime import effects
from agentpost.runtime.isolated.pool import Suspects
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


async def test_an_end_is_tried_until_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "RETRY_SECONDS_FIRST", 0.001)
    tried: list[int] = []

    async def write() -> None:
        tried.append(1)
        if len(tried) < 4:
            raise OSError("disk is full")

    await effects.retry_until_recorded(write, "exe_1")
    assert len(tried) == 4


async def test_an_end_that_is_not_ours_is_not_tried_again() -> None:
    tried: list[int] = []

    async def write() -> None:
        tried.append(1)
        raise Fenced("taken over")

    with pytest.raises(Fenced):
        await effects.retry_until_recorded(write, "exe_1")
    assert len(tried) == 1


@pytest.mark.parametrize(
    ("running", "seen", "blamed", "suspects"),
    [
        (["a"], None, "a", ["a"]),  # it was alone
        (["a", "b"], None, None, ["a", "b"]),  # each may have been it
        (["a", "b"], "b", "b", ["b"]),  # it was seen
        ([], None, None, []),
    ],
)
def test_a_death(
    running: list[str], seen: str | None, blamed: str | None, suspects: list[str]
) -> None:
    found = Suspects()
    assert found.died(running, seen) == blamed
    assert [owner for owner in ("a", "b") if found.is_suspect(owner)] == suspects
    assert [found.times(owner) for owner in ("a", "b")] == [
        int(owner == blamed) for owner in ("a", "b")
    ]


def test_only_deaths_of_its_own_count() -> None:
    found = Suspects()
    found.died(["a", "b"])
    found.died(["a"])
    found.died(["a"])
    found.acquit("b")
    assert (found.times("a"), found.times("b")) == (2, 0)
    assert not found.is_suspect("b")
    found.forget("a")
    assert (found.times("a"), found.is_suspect("a")) == (0, False)
