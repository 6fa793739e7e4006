"""The agent loop: what runs there hurts nobody else, and a hang is seen."""

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from structlog.testing import capture_logs

from agentpost.threads.loop import AgentLoop, Submission
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    made = AgentLoop(stall_seconds=0.1)
    made.start()
    yield made
    assert made.stop(PATIENCE)


class Hang:
    """Blocks the thread it runs in until released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()

    async def hang_here(self) -> None:
        self.entered.set()
        self.release.wait(PATIENCE)  # the one thing agent code must not do


def lines_of(logs: list[Any], event: str) -> list[Any]:
    return [line for line in logs if line["event"] == event]


async def never() -> None:
    await asyncio.Event().wait()


async def test_run_hands_back_the_value_from_the_other_thread(loop: AgentLoop) -> None:
    async def where() -> int:
        await asyncio.sleep(0)
        return threading.get_ident()

    assert await loop.run(where()) != threading.get_ident()


async def test_run_hands_back_the_exception(loop: AgentLoop) -> None:
    async def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await loop.run(fail())


async def test_cancelling_the_caller_cancels_the_work(loop: AgentLoop) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await never()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    waiting = asyncio.create_task(loop.run(work()))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(cancelled.wait, PATIENCE)


async def test_a_blocked_loop_does_not_block_its_callers(loop: AgentLoop) -> None:
    hang = Hang()
    first = loop.submit(hang.hang_here)
    assert await asyncio.to_thread(hang.entered.wait, PATIENCE)
    second = loop.submit(asyncio.Event().wait)
    called: list[int] = []
    loop.call_soon(called.append, 1)
    second.cancel()
    waiting = asyncio.create_task(loop.run(asyncio.sleep(0, "late")))
    await asyncio.sleep(0)
    assert not first.ended.done()
    assert not second.ended.done()
    assert not called
    hang.release.set()
    assert await waiting == "late"
    await asyncio.wrap_future(second.ended)
    assert called == [1]


def test_submitted_work_runs_in_the_callers_context(loop: AgentLoop) -> None:
    request: ContextVar[str] = ContextVar("request")
    request.set("req_1")
    seen: list[str] = []

    async def look() -> None:
        seen.append(request.get())

    loop.submit(look).ended.result(PATIENCE)
    assert seen == ["req_1"]


def test_work_that_has_ended_is_freed_without_the_garbage_collector(loop: AgentLoop) -> None:
    class Run:
        submission: Submission

        def end(self) -> None: ...

    async def work() -> None: ...

    run = Run()
    run.submission = loop.submit(work, run.end)
    run.submission.ended.result(PATIENCE)
    kept = weakref.ref(run)
    gc.disable()
    try:
        del run
        eventually(lambda: kept() is None)
    finally:
        gc.enable()


def test_exceptions_are_logged(loop: AgentLoop) -> None:
    async def fail() -> None:
        raise ValueError("in a task")

    def fail_plainly() -> None:
        raise ValueError("in a callback")

    with capture_logs() as logs:
        loop.submit(fail).ended.result(PATIENCE)
        loop.submit(fail_plainly).ended.result(PATIENCE)  # type: ignore[arg-type]
        loop.call_soon(fail_plainly)
        eventually(lambda: lines_of(logs, "agent_loop_callback_failed"))
    in_a_task, before_it = lines_of(logs, "agent_loop_task_failed")
    assert "in a task" in str(in_a_task["exc_info"])
    assert before_it["exc_info"]
    assert "in a callback" in str(lines_of(logs, "agent_loop_callback_failed")[0]["exc_info"])


def test_agent_code_cannot_end_the_loop(loop: AgentLoop) -> None:
    async def leave() -> None:
        sys.exit(3)

    with capture_logs() as logs:
        loop.submit(leave).ended.result(PATIENCE)
        loop.submit(lambda: asyncio.sleep(0)).ended.result(PATIENCE)
        eventually(lambda: lines_of(logs, "agent_loop_exit_refused"))


def test_the_watchdog_logs_each_stall_once_with_its_place(loop: AgentLoop) -> None:
    def stalls(logs: list[Any]) -> list[Any]:
        """Those of ours: on a busy machine any task may get no turn for a tenth of a second."""
        return [
            each for each in lines_of(logs, "agent_loop_stalled") if "hang_here" in each["stack"]
        ]

    def recovered(logs: list[Any]) -> list[Any]:
        return [each for each in lines_of(logs, "agent_loop_recovered") if each["seconds"] >= 0.3]

    def stall(logs: list[Any], times: int) -> None:
        hang = Hang()
        loop.submit(hang.hang_here)
        eventually(lambda: len(stalls(logs)) == times)
        # Long enough for several more looks of the watchdog at the same stall.
        hang.release.wait(0.3)
        hang.release.set()
        eventually(lambda: len(recovered(logs)) >= times)

    with capture_logs() as logs:
        stall(logs, 1)
        stall(logs, 2)
    assert len(stalls(logs)) == 2
    assert stalls(logs)[0]["seconds"] >= 0.1


def test_stop_cancels_what_runs_and_waits_for_it() -> None:
    loop = AgentLoop()
    loop.start()
    begun, tidied = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            begun.set()
            await never()
        finally:
            await asyncio.sleep(0.05)
            tidied.set()

    submission = loop.submit(work)
    assert begun.wait(PATIENCE)
    assert loop.stop(PATIENCE)
    assert tidied.is_set()
    assert submission.ended.done()
    submission.cancel()
    assert loop.stop(0)


async def test_stop_ends_those_who_wait_for_a_value() -> None:
    loop = AgentLoop()
    loop.start()
    begun = threading.Event()

    async def work() -> None:
        begun.set()
        await never()

    waiting = asyncio.create_task(loop.run(work()))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    assert await asyncio.to_thread(loop.stop, PATIENCE)
    with pytest.raises(RuntimeError, match="cancelled on the agent loop"):
        await waiting


async def test_a_stopped_loop_takes_nothing() -> None:
    loop = AgentLoop()
    with pytest.raises(RuntimeError, match="not running"):
        loop.submit(never)
    loop.start()
    loop.stop(PATIENCE)
    with pytest.raises(RuntimeError, match="not running"):
        loop.submit(never)
    with pytest.raises(RuntimeError, match="not running"):
        loop.call_soon(print)
    with pytest.raises(RuntimeError, match="not running"):
        await loop.run(never())


def test_stop_gives_up_on_a_blocked_loop_and_says_where_it_hangs() -> None:
    loop = AgentLoop()
    loop.start()
    hang = Hang()
    loop.submit(hang.hang_here)
    assert hang.entered.wait(PATIENCE)
    late = loop.submit(never)
    with capture_logs() as logs:
        assert not loop.stop(0.05)
    assert "hang_here" in lines_of(logs, "agent_loop_did_not_stop")[0]["stack"]
    refused = loop.submit(never)  # the loop has not even seen yet that it shall stop
    hang.release.set()
    assert loop.stop(PATIENCE)
    assert late.ended.done()
    assert refused.ended.done()
