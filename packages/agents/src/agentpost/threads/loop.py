"""The agent loop: turns, jobs and async steps run here, on one event loop in its own thread.

Agent code is somebody else's code: it may call ``time.sleep`` or parse for seconds. On a loop of
its own that hurts other agents' work at most, never the API, webhooks or heartbeats (design:
Where author's code runs). A second thread watches it and logs where it hangs.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, TypeVarTuple, Unpack

import structlog

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_AnyCoroutine: TypeAlias = Coroutine[Any, Any, object]

_STALL_SECONDS: Final = 1.0
"""A loop that has not answered for so long is reported as stalled."""

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Submission:
    """Work given to the agent loop with `AgentLoop.submit`. Safe to use from any thread.

    ``ended`` resolves to None when it has really ended, whichever way: wait for it with
    ``ended.result(timeout)`` in a thread or ``asyncio.wrap_future(ended)`` on a loop. Waiting can
    be given up, it cannot.
    """

    _loop: asyncio.AbstractEventLoop
    _open: set[Submission]
    _on_end: Callable[[], object] | None
    _task: asyncio.Task[object] | None = None
    ended: concurrent.futures.Future[None] = field(default_factory=concurrent.futures.Future)

    def __post_init__(self) -> None:
        self.ended.set_running_or_notify_cancel()

    def cancel(self, why: str | None = None) -> None:
        """Ask the work to end: it gets ``CancelledError(why)`` at its next await."""
        # A closed loop has cancelled it already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel, why)

    def _cancel(self, why: str | None) -> None:
        if self._task is not None:  # None: refused, because the loop was stopping
            self._task.cancel(why)

    def _end(self, task: asyncio.Task[object] | None = None) -> None:
        if task is not None and not task.cancelled() and task.exception() is not None:
            log.error("agent_loop_task_failed", exc_info=task.exception())
        self._open.discard(self)
        self.ended.set_result(None)
        # What is told of the end mostly refers to this object: without a cycle it is freed at once.
        self._task, on_end, self._on_end = None, self._on_end, None
        if on_end is not None:
            on_end()


class AgentLoop:
    """One event loop in a daemon thread (uvloop where it is installed), with a watchdog.

    ``name`` is the thread's: other work that must not hurt the API runs on a loop of its own, too.

    ``submit``, ``call_soon`` and ``run`` never wait for the loop, so a blocked loop blocks nobody
    else. All three raise `RuntimeError` when the loop is not running.
    """

    def __init__(self, stall_seconds: float = _STALL_SECONDS, *, name: str = "agent-loop") -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._open: set[Submission] = set()
        self._started = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._stall = stall_seconds

    def start(self) -> None:
        """Start the thread; returns when the loop runs. Once only."""
        self._thread.start()
        self._started.wait()
        self._usable()

    def submit(
        self, coro_factory: Callable[[], _AnyCoroutine], on_end: Callable[[], object] | None = None
    ) -> Submission:
        """Run the coroutine that ``coro_factory`` makes (called on the loop, in the caller's
        context); its exception is logged.

        ``on_end`` is called on the loop's thread once the work has ended, whichever way, also while
        this raises because the loop ends; it must not raise.
        """
        loop = self._usable()
        submission = Submission(loop, self._open, on_end)
        self._open.add(submission)
        try:
            loop.call_soon_threadsafe(self._begin, submission, coro_factory)
        except RuntimeError:
            self._open.discard(submission)
            raise
        return submission

    async def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """From another loop: run ``coro`` on the agent loop and hand back its value or exception;
        to cancel the caller cancels it. `RuntimeError` when the loop itself cancelled it, as when
        it stops."""
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

        async def work() -> None:
            try:
                outcome.set_result(await coro)
            except Exception as error:
                outcome.set_exception(error)

        try:
            submission = self.submit(work)
        except RuntimeError:
            coro.close()
            raise
        # By then it has ended, where this does nothing, or will never begin.
        submission.ended.add_done_callback(lambda _: coro.close())
        try:
            await asyncio.wrap_future(submission.ended)
        except asyncio.CancelledError:
            submission.cancel()
            raise
        if not outcome.done():
            raise RuntimeError("the work was cancelled on the agent loop")
        return outcome.result()

    def call_soon(self, fn: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        """Call a plain function on the loop soon; its exception is logged."""
        self._usable().call_soon_threadsafe(fn, *args)

    def stop(self, timeout: float) -> bool:
        """Cancel all tasks, wait for them, close the loop; blocks up to ``timeout`` seconds.

        False when something did not end in time: the thread is left behind as a daemon and keeps
        nothing alive. Called from another thread; a second call only waits.
        """
        if self._loop is None:
            return True
        with contextlib.suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._stopping.set)
        if not self._closed.wait(timeout):
            log.error("agent_loop_did_not_stop", seconds=timeout, stack=self.stack())
            return False
        self._thread.join()
        return True

    def stack(self) -> str:
        """Where its thread is right now."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame))

    def _usable(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._stopping.is_set():
            raise RuntimeError("the agent loop is not running")
        return self._loop

    def _begin(self, submission: Submission, factory: Callable[[], _AnyCoroutine]) -> None:
        if self._stopping.is_set():
            submission._end()
            return
        try:
            coroutine = factory()
        except Exception:
            log.exception("agent_loop_task_failed")
            submission._end()
            return
        submission._task = asyncio.get_running_loop().create_task(coroutine)
        submission._task.add_done_callback(submission._end)

    def _main(self) -> None:
        try:
            # Leaving the runner cancels every task, waits for them and closes the loop.
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                loop = runner.get_loop()
                serving = loop.create_task(self._serve())
                while not serving.done():
                    try:
                        loop.run_until_complete(serving)
                    except (SystemExit, KeyboardInterrupt):
                        # A task that calls sys.exit() ends the loop's run, not the loop.
                        log.exception("agent_loop_exit_refused")
        finally:
            # Work that arrived after the loop's last round will never start.
            for submission in list(self._open):
                submission._end()
            self._started.set()
            self._closed.set()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_log_loop_error)
        stopped = threading.Event()
        watching = threading.Thread(
            target=self._watch, args=(loop, stopped), name="agent-loop-watchdog", daemon=True
        )
        watching.start()
        self._loop = loop
        self._started.set()
        try:
            await self._stopping.wait()
        finally:
            stopped.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, stopped: threading.Event) -> None:
        """Log each time that the loop does not answer for too long, and, later, that it has; to ask
        it again and again costs 70 µs a second."""
        while not stopped.wait(self._stall):
            asked_at, answered = time.monotonic(), threading.Event()
            with contextlib.suppress(RuntimeError):  # it is closed, and this is stopped
                loop.call_soon_threadsafe(answered.set)
            if answered.wait(self._stall) or stopped.is_set():
                continue
            silent = round(time.monotonic() - asked_at, 1)
            log.warning("agent_loop_stalled", seconds=silent, stack=self.stack())
            while not answered.wait(self._stall) and not stopped.is_set():
                pass
            if answered.is_set():
                silent = round(time.monotonic() - asked_at, 1)
                log.info("agent_loop_recovered", seconds=silent)


def _log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error(
        "agent_loop_callback_failed",
        reason=context.get("message"),
        exc_info=context.get("exception"),
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
