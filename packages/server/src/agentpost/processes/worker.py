"""One worker process as the server sees it: how it is started, asked and ended."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from agentpost.agents.deaths import LimitExceeded, NotBegun, OutOfMemory, died
from agentpost.author.output import Output
from agentpost.author.worker_process import HEADER
from agentpost.processes.environment import OWN, Interpreter
from agentpost.processes.prefix import Place

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
        output: "OutputPipes",
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

    def when_ended(self, fn: "Callable[[WorkerProcess], None]") -> None:
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
    listener: socket.socket, process: asyncio.subprocess.Process, name: str, output: "OutputPipes"
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


YIELDING: Final = 10
"""The niceness of a session that yields: it gets a tenth of what another one does."""
_AGAIN_SECONDS: Final = 0.15
"""The kernel lets ten sessions a second be changed, in the whole system."""


class Session:
    """The session of a process. Belongs to an event loop.

    Args:
        pid: the process that leads the session.
        alive: whether there is such a process still.
    """

    def __init__(self, pid: int, alive: Callable[[], bool]) -> None:
        self._path = Path(f"/proc/{pid}/autogroup")
        self._alive = alive
        self._niceness = self._wanted = 0
        self._again: asyncio.TimerHandle | None = None

    def yield_processors(self, yields: bool) -> None:
        """Take what others leave, or an equal share again. Does nothing where the kernel does not
        share the processors so."""
        self._wanted = YIELDING if yields else 0
        if self._again is None:
            self._settle()

    def _settle(self) -> None:
        self._again = None
        if self._wanted == self._niceness or not self._alive():
            return
        try:
            self._path.write_text(str(self._wanted))
        except BlockingIOError:
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(_AGAIN_SECONDS, self._settle)
            return
        except OSError:  # no such kernel
            pass
        self._niceness = self._wanted


_CHUNK_BYTES: Final = 64 * 1024
_STDERR_BYTES_MAX: Final = 600
_LAST_CHUNKS: Final = 32
"""What is read of each stream when a call is over: more than a pipe holds."""


class OutputPipes:
    """A pipe for each standard stream of one worker. Belongs to the event loop it is started on.
    ``stdout`` and ``stderr`` are the descriptors for the worker. Raises `OSError`."""

    def __init__(self) -> None:
        self._output = Output({})
        self._reading: dict[str, int] = {}
        self._stderr_tail: bytes | None = b""
        self.stdout = self.stderr = -1
        try:
            self._reading["stdout"], self.stdout = _pipe()
            self._reading["stderr"], self.stderr = _pipe()
        except OSError:  # too many are open
            self.close()
            raise

    def start(self) -> None:
        """The worker has its descriptors: read what it writes."""
        self._close_theirs()
        loop = asyncio.get_running_loop()
        for stream, reading in self._reading.items():
            # In a context of its own: that of the call which started the worker is another's later.
            Context().run(loop.add_reader, reading, self._read, stream)

    def begin(self, ids: Mapping[str, object]) -> None:
        """A call begins: what is written from here on is its."""
        self._stderr_tail = None
        self._output.end()
        self._output = Output(ids)

    def stderr_tail(self) -> str:
        """The end of what it wrote to standard error before its first call, to say why it could not
        begin; empty when that is nothing."""
        text = " ".join((self._stderr_tail or b"").decode("utf-8", "replace").split())
        return f"; it says: {text}" if text else ""

    def end(self) -> None:
        """The call is over. What programs that it started still write is its as well."""
        for stream in list(self._reading):
            for _ in range(_LAST_CHUNKS):
                if not self._read(stream):
                    break
        self._output.end()

    def close(self) -> None:
        """Read what is left, then close."""
        self.end()
        self._close_theirs()
        for stream in list(self._reading):
            self._close(stream)

    def _read(self, stream: str) -> bool:
        """Read a part; False when there is nothing now."""
        try:
            data = os.read(self._reading[stream], _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._close(stream)
            return False
        if self._stderr_tail is not None and stream == "stderr":
            self._stderr_tail = (self._stderr_tail + data)[-_STDERR_BYTES_MAX:]
        self._output.feed(stream, data)
        return True

    def _close(self, stream: str) -> None:
        reading = self._reading.pop(stream)
        asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)

    def _close_theirs(self) -> None:
        for writing in (self.stdout, self.stderr):
            if writing >= 0:
                os.close(writing)
        self.stdout = self.stderr = -1


def _pipe() -> tuple[int, int]:
    """A pipe whose reading end does not block."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    return reading, writing
