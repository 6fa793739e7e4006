"""The worker pool: plain functions of agents, each call in a process that can be killed alone.

Stopping a job must end the function it runs within a second, without hurting the calls beside it
(design: agent protocol, rule 4). Why our own: `concurrent.futures.ProcessPoolExecutor` breaks as a
whole when one worker is killed; `anyio.to_process` kills just one, but it sets no limits, never
recycles, leaves a busy worker behind when its parent is killed, throws away what functions print,
passes the whole environment on and unpickles whatever a worker answers.

A worker lacks the server's secrets in its environment and its memory, no more: it runs as the same
user. That contains accidents; it is not a sandbox for code nobody trusts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from agentpost.agents import values
from agentpost.agents.deaths import NoWorker, WorkerDied, WorkerKilled, died
from agentpost.agents.worker import HEADER, frame

SECRET_ENV: Final = frozenset(
    {
        "AGENTPOST_BOOTSTRAP_API_KEY",
        "AGENTPOST_DATABASE_URL",
        "AGENTPOST_METRICS_TOKEN",
        "AGENTPOST_REDIS_URL",
        "AGENTPOST_SECRET_KEY",
        "AGENTPOST_SMTP_URL",
        "AGENTPOST_STORAGE_URL",
    }
)
"""Environment variables of the server that a worker does not get."""

_GIB: Final = 1024**3
_BOOT_SECONDS_MAX: Final = 60.0
_LEAVE_SECONDS_MAX: Final = 2.0
_DRAIN_SECONDS: Final = 1.0
_BEGINNINGS_MAX: Final = 3
_FOLDER_PREFIX: Final = "worker-"

log = structlog.get_logger(__name__)


Ready = Callable[[], Awaitable[None]]
"""Awaited when a worker has the call, right before the function begins; may raise to prevent it."""


class _NotBegun(WorkerDied):
    """The process ended before it began with the function; of what is in ``death``."""

    def __init__(self, death: WorkerDied) -> None:
        super().__init__(str(death))
        self.death = death


class WorkerPool:
    """At most ``workers`` processes, started when needed; waiting calls are served in order.

    A process is replaced after ``max_tasks`` calls and ended when idle for ``idle_seconds``.
    ``memory_bytes`` limits its address space (Linux; None for no limit). ``scratch`` is a folder
    of this pool alone: each worker's temporary files live, and end, below it. ``sys.path`` and
    the working directory are those of the server when the worker is started.

    Belongs to one event loop, whose thread must outlive the workers.
    """

    def __init__(
        self,
        workers: int,
        *,
        scratch: Path,
        max_tasks: int = 50,
        memory_bytes: int | None = 4 * _GIB,
        idle_seconds: float = 300.0,
    ) -> None:
        assert workers > 0
        assert max_tasks > 0
        self._slots = asyncio.Semaphore(workers)  # first come, first served
        self._scratch = scratch
        self._max_tasks = max_tasks
        self._memory_bytes = memory_bytes
        self._idle_seconds = idle_seconds
        self._idle: dict[_Worker, asyncio.TimerHandle] = {}  # the last one in was used last
        self._workers: set[_Worker] = set()
        self._closed = asyncio.Event()

    async def start(self) -> None:
        """Remove what a killed server left in ``scratch`` and warm one worker."""
        await asyncio.to_thread(_clear, self._scratch)
        async with self._slots:
            self._rest(await self._spawn())

    async def call(
        self,
        fn_ref: str,
        args: list[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        key: str,
        ready: Ready | None = None,
    ) -> Any:
        """What the function ``module:qualname`` returns for its arguments (JSON or `File`).

        ``key`` is what `agentpost.agents.step_key` says there. Cancelling kills the worker. Raises
        the function's own exception rebuilt, its traceback as a note; `MissingFunction`;
        `TypeError` or `ValueError` for a value that cannot be recorded; what ``ready`` raises;
        `WorkerDied` when the function ended its own process, `WorkerKilled` when somebody else
        did, `NoWorker` when it was not called.
        """
        reply = await self._perform(_request(fn_ref, args, kwargs, key, None), fn_ref, ready)
        return values.load(reply["value"], None)

    async def build(
        self,
        fn_ref: str,
        args: list[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        key: str,
        into: Path,
        ready: Ready | None = None,
    ) -> None:
        """Like `call`, for a function that makes a file: bytes, str (UTF-8) or a `Path`.

        The worker writes it to ``into``. A path below the worker's temporary folder is moved,
        another copied. When this raises, or is cancelled, ``into`` may hold a part.
        """
        await self._perform(_request(fn_ref, args, kwargs, key, into), fn_ref, ready)

    async def aclose(self) -> None:
        """Kill all workers and wait for their end; running calls raise `WorkerKilled`."""
        self._closed.set()
        for worker in list(self._workers):
            worker.kill()
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
        while self._workers:
            await asyncio.gather(*(worker.ended() for worker in self._workers))

    async def _perform(self, request: bytes, fn_ref: str, ready: Ready | None) -> dict[str, Any]:
        async with self._slots:
            try:
                reply = await self._begin(request, ready)
            except NoWorker:
                raise
            except WorkerDied as died:
                log.warning("worker_died", function=fn_ref, reason=str(died))
                # At our own end we are the ones who kill.
                kind = WorkerKilled if self._closed.is_set() else type(died)
                raise kind(f"{fn_ref} did not finish: {died}") from None
        if "error" in reply:
            error = values.rebuild_error(reply["error"])
            values.remember_class_names(error, reply["kinds"])
            error.add_note(f"In a worker process:\n{reply['trace']}")
            raise error
        return reply

    async def _begin(self, request: bytes, ready: Ready | None) -> dict[str, Any]:
        """Ask a worker, and another one when it has died before it began.

        Raises `NoWorker` when that goes on, or `WorkerDied` when nobody killed them: then it is the
        request that no worker can take.
        """
        death = WorkerDied("")
        for _ in range(_BEGINNINGS_MAX):
            worker = self._take_idle() or await self._spawn()
            if ready is not None:
                try:
                    await ready()
                except BaseException:
                    self._rest(worker)
                    raise
            try:
                reply = await worker.ask(request)
            except _NotBegun as lost:
                log.info("worker_replaced", reason=str(lost))
                death = lost.death
                continue
            except WorkerDied:
                raise
            except BaseException:
                worker.kill()
                raise
            worker.calls += 1
            if worker.calls < self._max_tasks and not self._closed.is_set():
                self._rest(worker)
            else:
                worker.leave()
            return reply
        kind = NoWorker if isinstance(death, WorkerKilled) else WorkerDied
        raise kind(f"{_BEGINNINGS_MAX} processes in a row ended before they began: {death}")

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
            raise NoWorker("the worker pool is closed")
        try:
            self._scratch.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self._scratch))
            worker = await _Worker.spawn(folder)
        except OSError as error:
            raise NoWorker(f"a worker process could not be started: {error}") from error
        self._workers.add(worker)
        worker.when_ended(self._workers.discard)
        if self._closed.is_set():
            worker.kill()
        hello = {"path": sys.path, "memory_bytes": self._memory_bytes, "folder": str(folder)}
        try:
            async with asyncio.timeout(_BOOT_SECONDS_MAX):
                await worker.ask(frame(hello))
        except (TimeoutError, WorkerDied) as error:
            worker.kill()
            raise NoWorker(f"a worker process could not be started: {error!r}") from error
        except BaseException:
            worker.kill()
            raise
        return worker


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
        self._killed = False
        self._process = process
        self._reader = reader
        self._writer = writer
        self._folder = folder
        self._end = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def spawn(cls, folder: Path) -> _Worker:
        # The socket is the process's standard input: the one descriptor that every way of
        # starting a process hands over, and no other process gets.
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process: asyncio.subprocess.Process | None = None
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agentpost.agents.worker", str(os.getpid())),
                stdin=theirs.fileno(),
                env=_environment(os.environ, folder),
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

    async def ask(self, request: bytes) -> dict[str, Any]:
        """Send one frame, wait for its reply. Raises `WorkerDied`, after which there is no other
        request; a caller that is cancelled must `kill`."""
        begun = False
        try:
            self._writer.write(request)
            reply = await self._receive()
            if "begun" in reply:
                begun = True
                reply = await self._receive()
        except (asyncio.IncompleteReadError, OSError, ValueError):
            self.leave()
            await self.ended()
            death = died(self._process.returncode, by_us=self._killed)
            raise (death if begun else _NotBegun(death)) from None
        if "died" in reply:
            self.leave()
            raise WorkerDied(reply["died"])
        return reply

    async def _receive(self) -> dict[str, Any]:
        (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
        reply: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        return reply

    def kill(self) -> None:
        """End the process, and what it has started, at once."""
        if self._process.returncode is None:
            self._killed = True
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


def _environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in SECRET_ENV}
    return {**kept, "TMPDIR": str(folder)}


def _request(
    fn_ref: str,
    args: list[Any],
    kwargs: Mapping[str, Any] | None,
    key: str,
    into: Path | None,
) -> bytes:
    return frame(
        {
            "fn": fn_ref,
            "args": values.dump_local(args),
            "kwargs": values.dump_local(dict(kwargs or {})),
            "key": key,
            "into": None if into is None else str(into),
        }
    )


def _clear(scratch: Path) -> None:
    for left in scratch.glob(f"{_FOLDER_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
