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
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from agentpost.agents import values
from agentpost.agents.pipes import OutputPipes
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
_FOLDER_PREFIX: Final = "worker-"

log = structlog.get_logger(__name__)


class WorkerDied(Exception):
    """The process that ran a function ended before the function did; the text says how."""


class NoWorker(WorkerDied):
    """No process could be started; the function was not called."""


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

    async def call(self, fn_ref: str, args: list[Any], *, key: str) -> Any:
        """What the function ``module:qualname`` returns for ``args`` (JSON or `File`).

        ``key`` is what `agentpost.agents.step_key` says there. Cancelling kills the worker. Raises
        the function's own exception rebuilt, its traceback as a note; `MissingFunction`;
        `TypeError` or `ValueError` for a value that cannot be recorded; `WorkerDied`, `NoWorker`.
        """
        reply = await self._perform(fn_ref, args, key, None)
        return values.load(reply["value"], None)

    async def build(self, fn_ref: str, args: list[Any], *, key: str, into: Path) -> None:
        """Like `call`, for a function that makes a file: bytes, str (UTF-8) or a `Path`.

        The worker writes it to ``into``. A path below the worker's temporary folder is moved,
        another copied. When this raises, or is cancelled, ``into`` may hold a part.
        """
        await self._perform(fn_ref, args, key, into)

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

    async def _perform(self, fn_ref: str, args: list[Any], key: str, into: Path | None) -> Any:
        target = None if into is None else str(into)
        text = values.dump_local(args)
        request = frame({"fn": fn_ref, "args": text, "key": key, "into": target})
        async with self._slots:
            worker = self._take_idle() or await self._spawn()
            worker.output.begin(structlog.contextvars.get_contextvars())
            try:
                reply = await worker.ask(request)
            except WorkerDied as died:
                log.warning("worker_died", function=fn_ref, reason=str(died))
                raise WorkerDied(f"{fn_ref} did not finish: {died}") from None
            except BaseException:
                worker.kill()
                raise
            finally:
                worker.output.end()
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
            worker = await _Worker.spawn(folder)
        except OSError as error:
            raise NoWorker(f"a worker process could not be started: {error}") from error
        self._workers.add(worker)
        worker.when_ended(self._workers.discard)
        if self._closed.is_set():
            worker.kill()
        hello = {
            "path": sys.path,
            "memory_bytes": self._memory_bytes,
            "folder": str(folder),
            # What the log leaves out need not be sent; what it takes is decided there.
            "log_level": min(logging.getLogger().level, logging.INFO),
        }
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
        output: OutputPipes,
    ) -> None:
        self.calls = 0
        self.output = output
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
        output = OutputPipes()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agentpost.agents.worker", str(os.getpid())),
                stdin=theirs.fileno(),
                stdout=output.stdout,
                stderr=output.stderr,
                env=_environment(os.environ, folder),
                start_new_session=True,  # one group to kill, out of reach of the terminal's Ctrl-C
            )
            output.start()
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except BaseException:
            ours.close()
            output.close()
            if process is not None:
                _kill_group(process.pid)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        return cls(process, reader, writer, folder, output)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._reader.at_eof()

    async def ask(self, request: bytes) -> dict[str, Any]:
        """Send one frame, wait for its reply. Raises `WorkerDied`, after which there is no other
        request; a caller that is cancelled must `kill`."""
        try:
            self._writer.write(request)
            (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            reply: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            self.leave()
            await self.ended()
            raise WorkerDied(_obituary(self._process.returncode)) from None
        if "died" in reply:
            self.leave()
            raise WorkerDied(reply["died"])
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
        self.output.close()
        # A reply sent just before the end is still read; nobody waits for ever for another.
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._writer.transport.abort)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in SECRET_ENV}
    return {**kept, "TMPDIR": str(folder)}


def _obituary(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process exited with code {code}"
    if -code == signal.SIGKILL:
        return "its process was killed (SIGKILL), most often because memory ran out"
    return f"its process was ended by {signal.Signals(-code).name}"


def _clear(scratch: Path) -> None:
    for left in scratch.glob(f"{_FOLDER_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
