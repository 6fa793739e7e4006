"""The tests' agent in a server that records what held its event loop up, in CPU time.

For a server that runs without uvloop, whose callbacks cannot be timed. CPU time leaves out how long
the machine did other things; it is given in units of a piece of work that is done right afterwards
(`_reference_seconds`), which takes a millisecond of a quiet machine. Each line of the record is a
number of these milliseconds and what took them.

The loop is held by its callbacks between two looks for something new, and by a thread that keeps
the interpreter: a call of a C function, which other threads wait for unless it lets them run. The
garbage collector is left out: how long it takes depends on all that the process holds, and not on
the call during which it runs.
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tests.e2e import agents

agent = agents.agent
RECORDED_SECONDS = 0.001
_REFERENCE_ROUNDS = 25
_REFERENCE = json.dumps([{"name": f"n{n}", "value": n} for n in range(40)])
_LETTING_OTHERS_RUN = {
    *("acquire", "execute", "executescript", "fsync", "get"),
    *("openssl_sha256", "read", "update", "write"),
}
"""C functions during which other threads run: the disk, the database, hashes and locks."""
_RECORD = Path(os.environ["TEST_TRACE"])
_run = asyncio.events.Handle._run
_run_once = asyncio.base_events.BaseEventLoop._run_once  # type: ignore[attr-defined]


def _reference_seconds() -> float:
    """Seconds of CPU that a fixed piece of work takes now, the least of three times."""
    times = []
    for _ in range(3):
        begin = time.thread_time()
        for _ in range(_REFERENCE_ROUNDS):
            json.dumps(json.loads(_REFERENCE))
        times.append(time.thread_time() - begin)
    return min(times)


def _record(seconds: float, what: str) -> None:
    line = f"{seconds / _reference_seconds():.2f} {what}\n"
    with _RECORD.open("a") as record:
        record.write(line)


class _Collector:
    """The CPU time of the main thread that the garbage collector took."""

    seconds = 0.0
    begin = 0.0


def _time_collector(phase: str, _: dict[str, int]) -> None:
    if threading.current_thread() is threading.main_thread():
        if phase == "start":
            _Collector.begin = time.thread_time()
        else:
            _Collector.seconds += time.thread_time() - _Collector.begin


def _loop_seconds() -> float:
    """CPU time of the main thread, without the collector's."""
    return time.thread_time() - _Collector.seconds


class _Iteration:
    """What the main thread's loop does between two looks for something new."""

    longest = 0.0
    handle: asyncio.Handle | None = None


def _timed_run(self: asyncio.Handle) -> None:
    if threading.current_thread() is not threading.main_thread():
        _run(self)
        return
    begin = _loop_seconds()
    _run(self)
    seconds = _loop_seconds() - begin
    if seconds > _Iteration.longest:
        _Iteration.longest, _Iteration.handle = seconds, self


def _timed_iteration(self: asyncio.BaseEventLoop) -> None:
    if threading.current_thread() is not threading.main_thread():
        _run_once(self)
        return
    _Iteration.longest, _Iteration.handle = 0.0, None
    begin = _loop_seconds()
    _run_once(self)
    seconds = _loop_seconds() - begin
    if seconds > RECORDED_SECONDS:
        _record(seconds, f"loop {_Iteration.longest * 1_000:.1f} of {_name_of(_Iteration.handle)}")


def _name_of(handle: asyncio.Handle | None) -> str:
    """What a handle calls; never its values, which may have megabytes."""
    callback = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    call = task.get_coro() if isinstance(task, asyncio.Task) else callback
    return getattr(call, "__qualname__", type(call).__name__)


_last = threading.local()


def _profile(frame: FrameType, event: str, argument: Any) -> None:
    """Record how long a C function of this thread took when it is long. Between two instructions of
    Python the thread may let others run, so those are not looked at."""
    if event == "c_call":
        _last.at = time.thread_time()
    elif event == "c_return":
        now = time.thread_time()
        seconds = now - getattr(_last, "at", now)
        if seconds > RECORDED_SECONDS and argument.__name__ not in _LETTING_OTHERS_RUN:
            sys.setprofile(None)
            code = frame.f_code
            place = f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {code.co_qualname}"
            _record(seconds, f"thread {place} {argument.__qualname__}")
            sys.setprofile(_profile)
        _last.at = time.thread_time()


def _begin_profile(frame: FrameType, event: str, argument: Any) -> None:
    """Profile the threads on which dear work is done; the others are those of the databases, whose
    C functions let others run, and of the agent."""
    is_worker = threading.current_thread().name.startswith("asyncio_")
    sys.setprofile(_profile if is_worker else None)


asyncio.base_events.BaseEventLoop._run_once = _timed_iteration  # type: ignore[attr-defined]
asyncio.events.Handle._run = _timed_run  # type: ignore[method-assign]
gc.callbacks.append(_time_collector)
threading.setprofile(_begin_profile)
