"""Calls of accounts continue in turn on the loop; dear work of theirs has one thread each."""

import asyncio
import contextvars
import gc
import threading
import warnings
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest

from agentpost.limits.account_steps import COMPANY_SECONDS, AccountSteps, AccountThreads
from tests.waiting import eventually_async

STEP_SECONDS = 0.002
CALLS = 8


class Bench:
    """Steps with a clock that only work moves, and the order in which calls took theirs."""

    def __init__(self) -> None:
        self.time = 100.0
        self.steps = AccountSteps(lambda: self.time)
        self.order: list[str] = []

    def call(self, account: str, name: str, pauses: int = 0) -> asyncio.Task[None]:
        """A call of steps that take as long as the worst ones, with a pass of the loop between."""

        async def work() -> None:
            for _ in range(pauses + 1):
                self.time += STEP_SECONDS
                self.order.append(name)
                await asyncio.sleep(0)

        return self.run(account, work())

    def run(self, account: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        async def call() -> Any:
            return await self.steps.run(account, work)

        return asyncio.ensure_future(call())

    async def use_turn(self, account: str) -> None:
        """Let the account use up its turn, and that of another one before, so that none is
        alone."""
        await asyncio.gather(self.call("another", "another"), self.call(account, account))
        self.order.clear()


async def test_a_call_of_another_account_is_answered_before_the_second_of_many() -> None:
    bench = Bench()
    many = [bench.call("busy", f"busy {n}") for n in range(CALLS)]
    await asyncio.gather(*many, bench.call("quiet", "quiet"))
    assert bench.order == ["busy 0", "quiet", *(f"busy {n}" for n in range(1, CALLS))]


async def test_accounts_that_wait_have_turns_one_after_the_other() -> None:
    """And no account waits for one that has more calls."""
    bench = Bench()
    calls = [bench.call(account, account) for account in ("a",) * CALLS + ("b",) * 3 + ("c",) * 3]
    await asyncio.gather(*calls)
    assert sorted(bench.order[:3]) == ["a", "b", "c"]
    assert sorted(bench.order[3:6]) == ["a", "b", "c"]
    assert sorted(bench.order[6:9]) == ["a", "b", "c"]
    assert bench.order[9:] == ["a"] * (CALLS - 3)


async def test_a_step_after_an_error_waits_for_its_turn_as_well() -> None:
    """What a thread refused is raised into a call on the loop."""
    bench, refused = Bench(), asyncio.get_running_loop().create_future()

    async def handle() -> None:
        try:
            await refused
        except ValueError:
            bench.order.append("refused")
        bench.time += STEP_SECONDS

    many = [bench.run("busy", handle()) for _ in range(CALLS)]
    await asyncio.sleep(0)
    refused.set_exception(ValueError())
    await asyncio.gather(*many, bench.call("quiet", "quiet"))
    assert bench.order[:2] in (["refused", "quiet"], ["quiet", "refused"])
    assert bench.order.count("refused") == CALLS


async def test_a_call_that_waits_holds_no_other() -> None:
    bench, end = Bench(), asyncio.Event()
    waiting = [bench.run(account, end.wait()) for account in ("busy", "quiet")]
    await asyncio.gather(*(bench.call("busy", "busy", pauses=3) for _ in range(CALLS)))
    end.set()
    assert await asyncio.gather(*waiting) == [True, True]


async def test_an_account_that_is_alone_has_no_turns() -> None:
    bench = Bench()
    await bench.use_turn("busy")
    bench.time += COMPANY_SECONDS + STEP_SECONDS
    await asyncio.gather(*(bench.call("busy", f"busy {n}", pauses=1) for n in range(3)))
    assert bench.order == ["busy 0", "busy 1", "busy 2"] * 2


async def test_a_call_that_is_cancelled_before_its_turn_does_nothing() -> None:
    bench = Bench()
    calls = [bench.call("busy", name) for name in ("first", "second", "third")]
    await asyncio.sleep(0)
    calls[1].cancel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await asyncio.wait(calls)
    assert [call.cancelled() for call in calls] == [False, True, False]
    assert bench.order == ["first", "third"]


async def test_a_call_that_is_cancelled_may_clean_up_and_wait_for_that() -> None:
    bench = Bench()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            bench.order.append("cleaned")

    await bench.use_turn("busy")
    call = bench.run("busy", work())
    for _ in range(4):
        await asyncio.sleep(0)
    others = [bench.call("busy", "busy") for _ in range(CALLS)]
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "cleaned" in bench.order
    await asyncio.gather(*others)


async def test_a_turn_that_is_cancelled_as_it_is_given_goes_to_the_next() -> None:
    bench = Bench()
    await bench.use_turn("busy")
    calls = [bench.call("busy", f"busy {n}") for n in range(3)]
    await asyncio.sleep(0)
    turns = list(bench.steps._accounts["busy"].waiting)
    for _ in range(10):
        if turns[0].done():
            calls[-len(turns)].cancel()
            break
        await asyncio.sleep(0)
    await asyncio.wait(calls)
    assert [call.cancelled() for call in calls].count(True) == 1
    assert len(bench.order) == 2


NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME")


async def test_a_call_keeps_its_task_its_context_its_deadlines_and_its_children() -> None:
    steps = AccountSteps()

    async def child() -> str:
        await asyncio.sleep(0)
        return NAME.get()

    async def call(task: asyncio.Task[Any] | None) -> str:
        NAME.set("inner")
        assert asyncio.current_task() is task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            children = [group.create_task(child()), group.create_task(asyncio.to_thread(NAME.get))]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.gather(child(), asyncio.Event().wait()), 0.001)
        return " ".join(each.result() for each in children)

    async def many() -> None:
        for account in ("a", "b"):
            assert await steps.run(account, call(asyncio.current_task())) == "inner inner"
            assert NAME.get() == "inner"  # as with every call that is awaited

    await asyncio.gather(*(many() for _ in range(4)))


async def test_an_account_without_calls_is_forgotten() -> None:
    bench = Bench()
    await bench.use_turn("first")
    await bench.use_turn("second")
    for _ in range(4):
        await asyncio.sleep(0)
    assert set(bench.steps._accounts) <= {"second"}, "the latest one may be there"
    assert not bench.steps._waiting


class Body:
    """What a body became."""


async def test_a_refused_call_leaves_nothing_to_collect() -> None:
    """Else the values of some bodies are collected at once, which holds the loop for 40 ms."""
    steps, threads = AccountSteps(), AccountThreads()
    bodies: list[weakref.ref[Body]] = []

    def refuse() -> None:
        body = Body()
        bodies.append(weakref.ref(body))
        raise ValueError("refused")

    async def call() -> None:
        await threads.run("acc_1", refuse)

    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(ValueError, match="refused"):
                await steps.run("acc_1", call())
        # The thread lets go of the last one a moment after its error has come.
        await eventually_async(lambda: [body() for body in bodies] == [None] * 3)
    finally:
        gc.enable()


async def test_an_account_has_one_thread_at_a_time_and_others_do_not_wait() -> None:
    threads, first_may_end, order = AccountThreads(), threading.Event(), list[str]()

    def first() -> int:
        first_may_end.wait()
        order.append("first")
        return threading.get_ident()

    held = asyncio.ensure_future(threads.run("acc_1", first))
    behind = asyncio.ensure_future(threads.run("acc_1", lambda: order.append("second")))
    await threads.run("acc_2", lambda: order.append("other"))
    first_may_end.set()
    await behind
    assert order == ["other", "first", "second"]
    assert await held != threading.get_ident()


async def test_the_place_is_kept_until_the_work_has_ended() -> None:
    """A client that hangs up does not begin a second thread."""
    threads, began, may_end, order = AccountThreads(), threading.Event(), threading.Event(), [""]

    def first() -> None:
        began.set()
        may_end.wait()
        order.append("first")

    gone = asyncio.ensure_future(threads.run("acc_1", first))
    await asyncio.to_thread(began.wait)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    behind = asyncio.ensure_future(threads.run("acc_1", lambda: order.append("second")))
    await threads.run("acc_2", may_end.set)
    await behind
    assert order == ["", "first", "second"]


async def test_what_the_work_raises_is_raised_and_leaves_the_place() -> None:
    threads = AccountThreads()

    def fails() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await threads.run("acc_1", fails)
    assert await threads.run("acc_1", lambda: 7) == 7
