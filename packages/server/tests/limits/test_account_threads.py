"""Dear work of callers: off the loop, one at a time for an account."""

import asyncio
import threading

import pytest

from agentpost.limits.account_steps import AccountThreads


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
