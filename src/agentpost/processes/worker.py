"""One worker process as the server sees it: how it is started, asked and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from agentpost.agents.deaths import LimitExceeded, NotBegun, died
from agentpost.processes.main import HEADER
from agentpost.processes.pipes import OutputPipes
from agentpost.processes.sessions import Session

_LEAVE_SECONDS_MAX: Final = 2.0
_DRAIN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Of one call: seconds on the clock, what is said when they are over, and CPU time."""

    late: str
    seconds: float
    cpu_seconds: float | None = None


class WorkerProcess:
    """One process and the channel to it. The caller must `kill` it or let it `leave`."""

    MODULE: ClassVar = "agentpost.processes.main"
    """The program that it runs."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        folder: Path,
        output: OutputPipes,
    ) -> None:
        self.calls = 0
        self.account: str | None = None
        """Whose call it had last."""
        self.session = Session(process.pid, lambda: self.alive)
        self.output = output
        self._killed = False
        self._process = process
        self._reader = reader
        self._writer = writer
        self._folder = folder
        self._end = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def spawn(cls, folder: Path, environ: dict[str, str]) -> Self:
        """Start one in ``folder``, which goes with it. Raises `OSError`."""
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            # The socket is the process's standard input: the one descriptor that every way of
            # starting a process hands over, and no other process gets.
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with theirs:
                ours.setblocking(False)
                output = OutputPipes()
                undo.callback(output.close)
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", cls.MODULE, str(os.getpid())),
                    stdin=theirs.fileno(),
                    stdout=output.stdout,
                    stderr=output.stderr,
                    env=environ,
                    start_new_session=True,  # one group to kill, out of reach of a Ctrl-C
                )
                undo.callback(_kill_group, process.pid)
                output.start()
                reader, writer = await asyncio.open_unix_connection(sock=ours)
            undo.pop_all()
        return cls(process, reader, writer, folder, output)

    @property
    def alive(self) -> bool:
        ended = self._killed or self._process.returncode is not None
        return not ended and not self._reader.at_eof()

    async def ask(self, request: bytes, limits: CallLimits) -> dict[str, Any]:
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

    async def _reply_to(self, request: bytes, limits: CallLimits) -> dict[str, Any]:
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
            code = self._process.returncode
            if limits.cpu_seconds is not None and code == -signal.SIGXCPU:
                used = f"it used more than {limits.cpu_seconds:g} s of CPU time"
                raise LimitExceeded(f"{used} (the setting step_cpu_seconds)") from None
            death = died(code, by_us=self._killed)
            raise (death if begun else NotBegun(death)) from None
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

    def when_ended(self, fn: Callable[[WorkerProcess], None]) -> None:
        self._end.add_done_callback(lambda _: fn(self))

    async def _watch(self) -> None:
        await self._process.wait()
        # Processes it started may hold the channel open and would run on for no one. The number
        # cannot belong to another group while this one has a member left.
        _kill_group(self._process.pid)
        self.output.close()
        # A reply sent just before the end is still read; nobody waits for ever for another.
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._writer.transport.abort)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
