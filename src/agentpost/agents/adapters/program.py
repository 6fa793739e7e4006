"""One process of a program that is an agent: lines in, lines out, limits, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from agentpost.agents.adapters.surroundings import Surroundings

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest line of a program, in bytes."""
_LEAVE_SECONDS: Final = 1.0
"""How long a program that has said its end may take to end."""


class Program:
    """One process. Its standard error goes to the log, with the ids of the run it belongs to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._writing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def started(cls, argv: list[str], surroundings: Surroundings) -> AsyncIterator[Program]:
        """Start it; it is killed with all that it started when the context ends."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            env=dict(surroundings.environment),
            start_new_session=True,  # one group to kill
        )
        logging = asyncio.create_task(_log(process))
        try:
            _limit(process.pid, surroundings)
            yield cls(process)
            with contextlib.suppress(TimeoutError):
                assert process.stdin is not None
                process.stdin.close()
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await process.wait()
                    await logging
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            logging.cancel()

    async def say(self, message: dict[str, Any]) -> None:
        """Write one line; nothing when the program no longer reads."""
        assert self._process.stdin is not None
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            async with self._writing:
                self._process.stdin.write(line.encode() + b"\n")
                await self._process.stdin.drain()

    async def line(self) -> bytes | None:
        """Its next line that is not empty, None when there is none any more; raises `ValueError`
        for one that is too long."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if line.strip():
                return line
        return None

    async def code(self) -> int:
        """Its exit code, negative for a signal."""
        return await self._process.wait()


async def _log(process: asyncio.subprocess.Process) -> None:
    """Pass on its standard error, which the server logs with the ids of this run."""
    assert process.stderr is not None
    while piece := await process.stderr.read(4096):
        sys.stderr.write(piece.decode("utf-8", "replace"))


def _limit(pid: int, surroundings: Surroundings) -> None:
    """Limit its memory and processor time (Linux): of the process, before it has its first line."""
    if sys.platform != "linux":
        return
    import resource

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(surroundings.cpu_seconds))]
    if surroundings.memory_bytes is not None:
        limits.append((resource.RLIMIT_DATA, surroundings.memory_bytes))
    with contextlib.suppress(ProcessLookupError):
        for limit, most in limits:
            _, hard = resource.prlimit(pid, limit)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, limit, (most, hard))
