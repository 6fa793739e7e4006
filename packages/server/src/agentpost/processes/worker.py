"""One worker process as the server sees it: how it is started, asked and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from agentpost.agents.deaths import LimitExceeded, NotBegun, OutOfMemory, died
from agentpost.author.worker_process import HEADER
from agentpost.processes.interpreter import OWN, Interpreter
from agentpost.processes.pipes import OutputPipes
from agentpost.processes.prefix import Place
from agentpost.processes.sessions import Session

_LEAVE_SECONDS_MAX: Final = 2.0
_DRAIN_SECONDS: Final = 1.0
_HUNG_UP_SECONDS: Final = 1.0
"""How long a supervisor may take to end what is below it."""
_CONNECT_SECONDS: Final = 60.0
_WRAPPED_SIGNAL: Final = 128
"""Programs that start others end with this and the number of the signal that ended those."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Of one call: seconds on the clock, the text of the error when they are over, and CPU time."""

    late: str
    seconds: float
    cpu_seconds: float | None = None


class WorkerProcess:
    """One process and the channel to it. The caller must `kill` it or let it `leave`."""

    MODULE: ClassVar = "agentpost.author.worker_process"
    """The program that it runs."""
    REPLY_BYTES_MAX: ClassVar[int] = 32 * 1024 * 1024
    """Longest frame that it may say: several times the largest value that can be recorded."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        folder: Path,
        output: OutputPipes,
        place: Place | None = None,
        interpreter: Interpreter = OWN,
    ) -> None:
        """``place``: of one that a command prefix has started."""
        self.interpreter = interpreter
        self.calls = 0
        self.place = place
        self.account: str | None = None
        """Whose call it had last."""
        self.session = Session(process.pid, lambda: self.alive)
        self.output = output
        self._killed = False
        self._process = process
        self._reader = reader
        self._writer = writer
        self.folder = folder
        self._end = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def spawn(
        cls,
        folder: Path,
        environ: dict[str, str],
        place: Place | None = None,
        interpreter: Interpreter = OWN,
    ) -> Self:
        """Start one with the temporary ``folder``, which goes with it; by the command prefix of a
        ``place``, if one is given. Raises `OSError`."""
        worker = [interpreter.path, "-P", "-m", cls.MODULE]
        argv = place.argv([*worker, "0"]) if place is not None else [*worker, str(os.getpid())]
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            # The socket is the process's standard input: the one descriptor that every way of
            # starting a process hands over, and no other process gets.
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            listener = None
            with theirs:
                ours.setblocking(False)
                if place is not None:
                    listener = undo.enter_context(_listening(place.channel))
                output = OutputPipes()
                undo.callback(output.close)
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=theirs.fileno() if place is None else asyncio.subprocess.DEVNULL,
                    stdout=output.stdout,
                    stderr=output.stderr,
                    env=environ,
                    start_new_session=True,  # one group to kill, out of reach of a Ctrl-C
                )
                undo.callback(_kill_group, process.pid)
                output.start()
            if listener is not None:
                ours.close()
                ours = await _accept(listener, process, argv[0], output)
                listener.close()
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            undo.pop_all()
        return cls(process, reader, writer, folder, output, place, interpreter)

    @property
    def alive(self) -> bool:
        has_ended = self._killed or self._process.returncode is not None
        return not has_ended and not self._reader.at_eof()

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
            raise OutOfMemory(reply["died"])
        return reply

    async def _reply_to(self, request: bytes, limits: CallLimits) -> dict[str, Any]:
        has_begun = False
        try:
            if self._writer.is_closing():  # uvloop refuses to write: a `RuntimeError`
                raise ConnectionResetError
            self._writer.write(request)
            reply = await self._receive()
            if "begun" in reply:
                has_begun = True
                reply = await self._receive()
        except (asyncio.IncompleteReadError, OSError, ValueError):
            self.leave()
            await self.wait_until_ended()
            code = self._code()
            if limits.cpu_seconds is not None and code == -signal.SIGXCPU:
                used = f"it used more than {limits.cpu_seconds:g} s of CPU time"
                raise LimitExceeded(f"{used} (the setting step_cpu_seconds)") from None
            death = died(code, by_us=self._killed)
            raise (death if has_begun else NotBegun(death)) from None
        return reply

    async def _receive(self) -> dict[str, Any]:
        (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
        if length > self.REPLY_BYTES_MAX:
            raise ValueError(f"it says {length} bytes at once")
        try:
            reply: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        except RecursionError:
            raise ValueError("what it says is nested too deeply") from None
        if not isinstance(reply, dict):
            raise ValueError("its reply is not an object")
        return reply

    def _code(self) -> int | None:
        """The exit code, negative for a signal."""
        code = self._process.returncode
        if code is not None and self.place is not None and code > _WRAPPED_SIGNAL:
            return _WRAPPED_SIGNAL - code
        return code

    def kill(self) -> None:
        """End the process, and what it has started, at once."""
        if self._process.returncode is not None:
            return
        self._killed = True
        if self.place is None:
            _kill_group(self._process.pid)
            return
        self._hang_up()  # its supervisor finds all, those that have left the group too
        asyncio.get_running_loop().call_later(_HUNG_UP_SECONDS, self._kill_late)

    def _kill_late(self) -> None:
        if self._process.returncode is None:
            _kill_group(self._process.pid)

    def _hang_up(self) -> None:
        self._writer.transport.abort()

    def leave(self) -> None:
        """Let an idle process end by itself; killed when it takes long."""
        self._writer.close()
        asyncio.get_running_loop().call_later(_LEAVE_SECONDS_MAX, self.kill)

    async def wait_until_ended(self) -> None:
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
        asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._hang_up)
        folder = self.folder if self.place is None else self.place.folder
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _listening(path: Path) -> socket.socket:
    """A socket there, for one connection."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.setblocking(False)
        listener.bind(str(path))
        path.chmod(0o666)  # in a folder whose name only this process and the new one know
        listener.listen(1)
    except BaseException:
        listener.close()
        raise
    return listener


async def _accept(
    listener: socket.socket, process: asyncio.subprocess.Process, name: str, output: OutputPipes
) -> socket.socket:
    """The connection of a worker that a prefix starts. Raises `OSError` when it ends, or does not
    connect in time."""
    loop = asyncio.get_running_loop()
    accepting = loop.create_task(loop.sock_accept(listener))
    ending = loop.create_task(process.wait())
    try:
        await asyncio.wait(
            {accepting, ending}, timeout=_CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if accepting.done():
            connection, _ = accepting.result()
            connection.setblocking(False)
            return connection
        if ending.done():
            output.end()
            raise OSError(f"{name} ended with code {ending.result()}{output.stderr_tail()}")
        late = f"{name} runs, but no worker has connected within {_CONNECT_SECONDS:g} s"
        raise OSError(f"{late}{output.stderr_tail()}")
    finally:
        accepting.cancel()
        ending.cancel()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
