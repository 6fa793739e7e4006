"""The worker pool: plain functions of agents, each call in a process that can be killed alone.

Stopping a job must end the function it runs within a second, without hurting the calls beside it
(design: agent protocol, rule 4). Why our own: `concurrent.futures.ProcessPoolExecutor` breaks as a
whole when one worker is killed; `anyio.to_process` kills just one, but it sets no limits, never
recycles, leaves a busy worker behind when its parent is killed, throws away what functions print,
passes the whole environment on and unpickles whatever a worker answers.

The pool is shared fairly by account (`agentpost.domain.fair_queue`), and each call has limits: time
on the clock, counted from when a worker has the call; CPU time; memory. Without them one account's
hostile file would hold the workers of all others.

A worker gets a listed part of the server's environment and none of its memory, no more: it runs as
the same user. That contains accidents; it is not a sandbox for code nobody trusts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from agentpost.agents import capacity, values
from agentpost.agents.environment import worker_environment
from agentpost.agents.places import Places
from agentpost.agents.worker import HEADER, frame

STEP_SECONDS: Final = 3_600.0
STEP_CPU_SECONDS: Final = 300.0

_BOOT_SECONDS_MAX: Final = 60.0
_LEAVE_SECONDS_MAX: Final = 2.0
_DRAIN_SECONDS: Final = 1.0
_FOLDER_PREFIX: Final = "worker-"

log = structlog.get_logger(__name__)


class WorkerDied(Exception):
    """The process that ran a function ended before the function did; the text says how."""


class LimitExceeded(WorkerDied):
    """The function used more CPU time or memory than a call may; the text names the setting."""


class NoWorker(WorkerDied):
    """No process could be started; the function was not called."""


class WorkerPool:
    """At most ``workers`` processes, started when needed and shared fairly by account (0 for a
    number that suits the host).

    A process is replaced after ``max_tasks`` calls and ended when idle for ``idle_seconds``.
    ``scratch`` is a folder of this pool alone: each worker's temporary files live, and end, below
    it. ``sys.path`` and the working directory are those of the server when the worker is started.

    Limits: ``memory_bytes`` of a process (Linux; 0 for what suits the host, None for no limit);
    ``seconds`` on the clock for a call that names no ``timeout``; ``cpu_seconds`` of CPU time for
    each call (None for no limit).
    ``env`` names environment variables that workers get besides those they always get.

    Belongs to one event loop, whose thread must outlive the workers.
    """

    def __init__(
        self,
        workers: int,
        *,
        scratch: Path,
        max_tasks: int = 50,
        memory_bytes: int | None = 0,
        seconds: float = STEP_SECONDS,
        cpu_seconds: float | None = STEP_CPU_SECONDS,
        env: Iterable[str] = (),
        idle_seconds: float = 300.0,
    ) -> None:
        assert max_tasks > 0
        workers = workers or capacity.default_workers()
        self._places = Places(workers)
        self._scratch = scratch
        self._max_tasks = max_tasks
        self._memory_bytes = capacity.default_memory_bytes() if memory_bytes == 0 else memory_bytes
        self._seconds = seconds
        self._cpu_seconds = cpu_seconds
        self._env = tuple(env)
        self._threads = max(1, capacity.processors() // workers)
        self._idle_seconds = idle_seconds
        self._idle: dict[_Worker, asyncio.TimerHandle] = {}  # the last one in was used last
        self._workers: set[_Worker] = set()
        self._closed = asyncio.Event()

    async def start(self) -> None:
        """Remove what a killed server left in ``scratch`` and warm one worker."""
        await asyncio.to_thread(_clear, self._scratch)
        self._rest(await self._spawn())

    async def call(
        self,
        fn_ref: str,
        args: list[Any],
        *,
        account: str,
        key: str,
        timeout: float | None = None,
        cpu_seconds: float | None = None,
    ) -> Any:
        """What the function ``module:qualname`` returns for ``args`` (JSON or `File`).

        ``account`` is whose share of the pool the call takes; ``key`` is what
        `agentpost.agents.step_key` says there. ``timeout`` is in seconds and begins when a worker
        has the call; ``cpu_seconds`` lowers the pool's limit. Cancelling takes a waiting call out
        of the queue and kills the worker of a running one.

        Raises the function's own exception rebuilt, its traceback as a note; `MissingFunction`;
        `TypeError` or `ValueError` for a value that cannot be recorded; `TimeoutError`;
        `LimitExceeded`, `NoWorker`, or another `WorkerDied`.
        """
        limits = self._limits(fn_ref, timeout, cpu_seconds)
        reply = await self._perform(fn_ref, args, account, key, None, limits)
        return values.load(reply["value"], None)

    async def build(
        self,
        fn_ref: str,
        args: list[Any],
        *,
        account: str,
        key: str,
        into: Path,
        timeout: float | None = None,
    ) -> None:
        """Like `call`, for a function that makes a file: bytes, str (UTF-8) or a `Path`.

        The worker writes it to ``into``. A path below the worker's temporary folder is moved,
        another copied. When this raises, or is cancelled, ``into`` may hold a part.
        """
        limits = self._limits(fn_ref, timeout)
        await self._perform(fn_ref, args, account, key, into, limits)

    async def aclose(self) -> None:
        """Kill all workers and wait for their end; running calls raise `WorkerDied`."""
        self._closed.set()
        for worker in list(self._workers):
            worker.kill()
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
        while self._workers:
            await asyncio.gather(*(worker.ended() for worker in self._workers))

    def _limits(
        self, fn_ref: str, timeout: float | None, cpu_seconds: float | None = None
    ) -> _Limits:
        if cpu_seconds is None or (self._cpu_seconds or math.inf) < cpu_seconds:
            cpu_seconds = self._cpu_seconds
        if timeout is not None:
            return _Limits(f"{fn_ref} took longer than {timeout:g} s", timeout, cpu_seconds)
        why = "the setting step_seconds; a timeout= of its own may be longer"
        late = f"{fn_ref} took longer than {self._seconds:g} s ({why})"
        return _Limits(late, self._seconds, cpu_seconds)

    async def _perform(
        self,
        fn_ref: str,
        args: list[Any],
        account: str,
        key: str,
        into: Path | None,
        limits: _Limits,
    ) -> Any:
        target = None if into is None else str(into)
        text = values.dump_local(args)
        request = frame(
            {"fn": fn_ref, "args": text, "key": key, "into": target, "cpu": limits.cpu_seconds}
        )
        async with self._places.hold(account):
            worker = self._take_idle() or await self._spawn()
            try:
                reply = await worker.ask(request, limits)
            except WorkerDied as died:
                log.warning("worker_died", function=fn_ref, reason=str(died))
                raise type(died)(f"{fn_ref} did not finish: {died}") from None
            except BaseException:
                worker.kill()
                raise
            worker.calls += 1
            if worker.calls < self._max_tasks and not self._closed.is_set():
                self._rest(worker)
            else:
                worker.leave()
        if "error" in reply:
            error = values.rebuild_error(reply["error"])
            error.add_note(f"In a worker process:\n{reply['trace']}")
            raise error
        return reply

    def _take_idle(self) -> _Worker | None:
        while self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
            if worker.alive:
                return worker
        return None

    def _rest(self, worker: _Worker) -> None:
        loop = asyncio.get_running_loop()
        self._idle[worker] = loop.call_later(self._idle_seconds, self._retire, worker)

    def _retire(self, worker: _Worker) -> None:
        del self._idle[worker]
        worker.leave()

    async def _spawn(self) -> _Worker:
        if self._closed.is_set():
            raise RuntimeError("the worker pool is closed")
        try:
            self._scratch.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self._scratch))
            environ = worker_environment(os.environ, self._env, threads=self._threads)
            worker = await _Worker.spawn(folder, {**environ, "TMPDIR": str(folder)})
        except OSError as error:
            raise NoWorker(f"a worker process could not be started: {error}") from error
        self._workers.add(worker)
        worker.when_ended(self._workers.discard)
        if self._closed.is_set():
            worker.kill()
        hello = {"path": sys.path, "memory_bytes": self._memory_bytes, "folder": str(folder)}
        try:
            await worker.ask(frame(hello), _Limits("it did not begin in time", _BOOT_SECONDS_MAX))
        except (TimeoutError, WorkerDied) as error:
            worker.kill()
            raise NoWorker(f"a worker process could not be started: {error!r}") from error
        except BaseException:
            worker.kill()
            raise
        return worker


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of one call: seconds on the clock, what is said when they are over, and CPU time."""

    late: str
    seconds: float
    cpu_seconds: float | None = None


class _Worker:
    """One process and the channel to it. Whoever starts it must `kill` it or let it `leave`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        folder: Path,
    ) -> None:
        self.calls = 0
        self._process = process
        self._reader = reader
        self._writer = writer
        self._folder = folder
        self._end = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def spawn(cls, folder: Path, environ: dict[str, str]) -> _Worker:
        # The socket is the process's standard input: the one descriptor that every way of
        # starting a process hands over, and no other process gets.
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process: asyncio.subprocess.Process | None = None
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agentpost.agents.worker", str(os.getpid())),
                stdin=theirs.fileno(),
                env=environ,
                start_new_session=True,  # one group to kill, out of reach of the terminal's Ctrl-C
            )
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except BaseException:
            ours.close()
            if process is not None:
                _kill_group(process.pid)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        return cls(process, reader, writer, folder)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._reader.at_eof()

    async def ask(self, request: bytes, limits: _Limits) -> dict[str, Any]:
        """Send one frame, wait for its reply. Raises `WorkerDied`, after which there is no other
        request; a caller that is cancelled, or gets a `TimeoutError`, must `kill`."""
        try:
            async with asyncio.timeout(limits.seconds):
                reply = await self._reply_to(request, limits)
        except TimeoutError:
            raise TimeoutError(limits.late) from None
        if "died" in reply:
            self.leave()
            raise LimitExceeded(reply["died"])
        return reply

    async def _reply_to(self, request: bytes, limits: _Limits) -> dict[str, Any]:
        try:
            self._writer.write(request)
            (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            reply: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            self.leave()
            await self.ended()
            if limits.cpu_seconds is not None and self._process.returncode == -signal.SIGXCPU:
                used = f"it used more than {limits.cpu_seconds:g} s of CPU time"
                raise LimitExceeded(f"{used} (the setting step_cpu_seconds)") from None
            raise WorkerDied(_obituary(self._process.returncode)) from None
        return reply

    def kill(self) -> None:
        """End the process, and what it has started, at once."""
        if self._process.returncode is None:
            _kill_group(self._process.pid)

    def leave(self) -> None:
        """Let an idle process end by itself; killed when it takes long."""
        self._writer.close()
        asyncio.get_running_loop().call_later(_LEAVE_SECONDS_MAX, self.kill)

    async def ended(self) -> None:
        await asyncio.shield(self._end)

    def when_ended(self, fn: Callable[[_Worker], None]) -> None:
        self._end.add_done_callback(lambda _: fn(self))

    async def _watch(self) -> None:
        await self._process.wait()
        # What it has started may hold the channel open and would go on for nobody. The number
        # cannot belong to another group while this one has a member left.
        _kill_group(self._process.pid)
        # A reply sent just before the end is still read; nobody waits for ever for another.
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._writer.transport.abort)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _obituary(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process exited with code {code}"
    if -code == signal.SIGKILL:
        return "its process was killed (SIGKILL), most often because memory ran out"
    return f"its process was ended by {signal.Signals(-code).name}"


def _clear(scratch: Path) -> None:
    for left in scratch.glob(f"{_FOLDER_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
