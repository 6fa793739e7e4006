"""The processes of a program that is an agent: one for each run under way, and those that wait.

A process ends with its run, unless its last line says that it stays: then it waits here for another
one. So no process has two runs at once, and as many are there as there were runs at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any, Final, cast

from agentpost.agents.adapters.surroundings import Surroundings

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest line of a program, in bytes."""
_LEAVE_SECONDS: Final = 1.0
"""How long a program that has said its end may take to end; and for how long its pipes are read
when it has ended and a process that it started holds them."""


class Programs:
    """The processes of one command line. Belongs to the agent loop, which ends them with itself."""

    def __init__(self, argv: list[str], surroundings: Surroundings) -> None:
        self._argv = argv
        self._surroundings = surroundings
        self._idle: dict[Program, asyncio.Task[None]] = {}  # the last one in was used last

    @contextlib.asynccontextmanager
    async def process(self) -> AsyncIterator[Program]:
        """A process for one run: one that waits, or a new one.

        It waits for another run afterwards if it `stays`. Else, and when the run raises or is
        cancelled, it is killed with all that it started. Raises `OSError`.
        """
        if self._idle:
            program, resting = self._idle.popitem()
        else:
            program, resting = await Program.start(self._argv, self._surroundings), None
        try:
            if resting is not None:
                resting.cancel()
                await asyncio.wait({resting})
            program.begin(self._surroundings)
            yield program
            if program.stays and self._surroundings.program_idle_seconds:
                await self._keep(program)
            else:
                await program.leave()
        finally:
            if program not in self._idle:
                program.kill()

    async def _keep(self, program: Program) -> None:
        """Let it wait, unless it has said more than its end: the next run would take it for its
        own."""
        resting = asyncio.create_task(self._rest(program), context=Context())
        await asyncio.sleep(0)  # what was read before is seen by now
        if not resting.done():
            self._idle[program] = resting

    async def _rest(self, program: Program) -> None:
        """Until it is taken; until it stirs, has waited for long, or the loop ends, which ends
        it."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._surroundings.program_idle_seconds):
                    await program.wait_for_output()
            if self._idle.pop(program, None) is not None:
                await program.leave()
                program.kill()
        finally:
            if self._idle.pop(program, None) is not None:
                program.kill()


class Program:
    """One process: lines in, lines out, limits, and its end.

    Its standard error goes to the log, with the ids of the run it belongs to.
    """

    stays = False
    """It has said that it waits for another run."""
    runs = 0
    """How many runs it was given, with the present one."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes) -> None:
        self._pipes = pipes
        self._process = Process(transport, pipes, asyncio.get_running_loop())
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._writing = asyncio.Lock()

    @classmethod
    async def start(cls, argv: list[str], surroundings: Surroundings) -> Program:
        """Start it; the caller must `kill` it. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        transport, pipes = await loop.subprocess_exec(
            lambda: _Pipes(LINE_BYTES_MAX, loop),
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(surroundings.environment),
            start_new_session=True,  # one group to kill
        )
        return cls(transport, pipes)

    def begin(self, surroundings: Surroundings) -> None:
        """A run begins: it has the limits, and what is written to standard error is its."""
        self.runs += 1
        self.stays = False
        self._pipes.context = copy_context()
        _limit(self._process.pid, surroundings)

    async def say(self, message: dict[str, Any]) -> None:
        """Write one line; nothing when the program no longer reads."""
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            async with self._writing:
                if self._stdin.is_closing():  # uvloop refuses to write: a `RuntimeError`
                    return
                self._stdin.write(line.encode() + b"\n")
                await self._stdin.drain()

    async def line(self) -> bytes | None:
        """Its next line that is not empty, None when there is none any more; raises `ValueError`
        for one that is too long."""
        while line := await self._stdout.readline():
            if line.strip():
                return line
        return None

    async def wait_for_output(self) -> None:
        """Wait until it says anything, or has ended."""
        await self._stdout.read(1)

    async def code(self) -> int:
        """Its exit code, negative for a signal."""
        await self._pipes.exited.wait()
        code = self._process.returncode
        assert code is not None
        return code

    async def leave(self) -> None:
        """Close its standard input, and let it end by itself for a moment."""
        self._stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._pipes.exited.wait()
                await self._pipes.logged.wait()

    def kill(self) -> None:
        """End it, and what it has started, at once; nothing of it is read any more."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._pipes.close()


class _Pipes(SubprocessStreamProtocol):
    """The pipes of a process. Those that a child of it still holds are closed soon after its end:
    they would never end by themselves."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self._running_loop = loop
        self._own_transport: asyncio.SubprocessTransport | None = None
        self.context = copy_context()
        self.exited = asyncio.Event()
        self.logged = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._own_transport = cast("asyncio.SubprocessTransport", transport)
        super().connection_made(transport)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        if fd == 2:
            assert isinstance(data, bytes)
            self.context.run(lambda: sys.stderr.buffer.write(data))
        else:
            super().pipe_data_received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 2:
            self.logged.set()
        super().pipe_connection_lost(fd, exc)

    def process_exited(self) -> None:
        self.exited.set()
        self._running_loop.call_later(_LEAVE_SECONDS, self.close)
        super().process_exited()

    def close(self) -> None:
        """Read and write nothing more."""
        assert self._own_transport is not None
        for fd in (0, 1, 2):
            pipe = self._own_transport.get_pipe_transport(fd)
            if pipe is not None:
                pipe.close()


def _limit(pid: int, surroundings: Surroundings) -> None:
    """Limit its memory, and the processor time of a run (Linux), before it has its first line."""
    if sys.platform != "linux":
        return
    import resource

    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        cpu_seconds = _used_cpu_seconds(pid) + int(surroundings.cpu_seconds)
        limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, cpu_seconds)]
        if surroundings.memory_bytes is not None:
            limits.append((resource.RLIMIT_DATA, surroundings.memory_bytes))
        for limit, most in limits:
            _, hard = resource.prlimit(pid, limit)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, limit, (most, hard))


def _used_cpu_seconds(pid: int) -> int:
    """The processor time that a process has used, rounded up: fields 14 and 15 of
    proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return math.ceil((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
