"""Starts `agentpost` by forking a process that has already imported it.

Importing the program costs each start about a second of CPU, ten times what it then does to be
ready, and these tests start it some hundred times. The workers of a parallel run share the process
that has imported it: each has a copy, which it asks. All else is as in a start from a shell: a
process of its own, with the environment, folder, arguments and signals given. Tests of the start
itself run the command (`subprocess`), and so does everything on systems other than Linux, where
forking a process that has loaded system libraries is not safe.

Run as a program, this module is the process that is forked.
"""

import asyncio
import atexit
import gc
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType, ModuleType
from typing import IO, Any, NoReturn, Protocol

from agentpost.cli.commands import PLACES, load_command
from tests.parallel import copy_for_each
from tests.servers import locked, run_dir

ROOT = Path(__file__).parents[1]
REQUEST_BYTES_MAX = 128 * 1024
HELLO = b"hello"
UNASKED_SECONDS_MAX = 60.0
"""How long the process that is forked runs without anybody who may ask it."""
RUN_PROGRAM = "from agentpost.cli import main; main()"
IMPORTED = (
    *("agentpost.accounts.operator_commands", "agentpost.operations.commands"),
    *("agentpost.serving.process", "agentpost.operations.doctor", "agentpost.db.postgres"),
    *("agentpost.wakeups.postgres", "agentpost_client._sync", "httpx2", "idna", "psycopg"),
    *("tests.e2e.agents", "uvicorn.lifespan.off", "uvicorn.protocols.http.httptools_impl"),
    "uvloop",
    # What many servers import when they are first asked for it, or send something.
    *("agentpost.backups.actions", "agentpost.db.postgres_backup", "agentpost.db.postgres_check"),
    *("agentpost.db.postgres_pool", "agentpost.doors.a2a.http", "agentpost.doors.mcp.http"),
    *("agentpost.doors.openai.chat", "agentpost.doors.openai.responses"),
    *("agentpost.egress.connections", "agentpost.storage.s3", "agentpost.storage.s3_incoming"),
    *("anyio._backends._asyncio", "anyio.streams.stapled", "boto3.session", "encodings.idna"),
    *("getpass", "jinja2", "nacl.secret", "prometheus_client", "pwd", "snowballstemmer"),
    *("typer._adapters", "typer._click.decorators"),
)
"""What the commands import until a server is ready, on either database, or has answered them. Not
what a few servers import, such as frameworks of agents: each fork copies the page tables of all."""

MODEL_ALONE = (
    "agentpost.agents.adapters.pydantic_ai",
    "agentpost.agents.llm.agent",
    "agentpost.agents.llm.calls",
    "pydantic_ai.models.openai",
)
"""What a server imports whose agent is a model alone, a second of CPU: ``imported`` of `start`."""


class Process(Protocol):
    """What tests use of a process they started; `subprocess.Popen` is one too."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class ForkedProcess:
    """One process; its parent reaps it and writes its exit code to a pipe, whose end we read."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self._status = status
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, at most ``timeout`` seconds; raises `subprocess.TimeoutExpired`."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("agentpost", timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        """Signal it; nothing when it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it was reaped; its exit code comes in a moment
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self._code is None and select.select([self._status], [], [], timeout)[0]:
            self._code = int(os.read(self._status, 16) or str(-signal.SIGKILL))
            os.close(self._status)
        return self._code


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float = 60,
    without: Sequence[str] = (),
    constants: Mapping[str, float | str] = MappingProxyType({}),
) -> "subprocess.CompletedProcess[str]":
    """Run `agentpost <arguments>` to its end; raises `subprocess.TimeoutExpired`."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = start(
            arguments,
            env=env,
            cwd=cwd,
            output=output,
            errors=errors,
            without=without,
            constants=constants,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for file in (output, errors):
            file.seek(0)
        return subprocess.CompletedProcess(
            ["agentpost", *arguments], code, output.read().decode(), errors.read().decode()
        )


def start(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    without: Sequence[str] = (),
    constants: Mapping[str, float | str] = MappingProxyType({}),
    clock: Path | None = None,
    imported: Sequence[str] = (),
) -> Process:
    """Start `agentpost <arguments>` in a session of its own.

    Args:
        output: gets stdout, and stderr too unless ``errors`` does.
        without: modules that it cannot import, as if they were not installed.
        constants: numbers and paths of the program by their places (``package.module.NAME``), such
            as how long it waits, that are others for this process.
        clock: a file that says by how many microseconds its clock is wrong; see `SetClock`.
        imported: modules that it will import, and others too: they are imported once, for all that
            this process starts from now on.
    """
    errors = errors or output
    if sys.platform != "linux":
        code = f"from tests import forking; forking.change({without!r}, {dict(constants)!r})"
        if clock is not None:
            code += f"; forking.follow_clock({str(clock)!r})"
        return subprocess.Popen(
            [sys.executable, "-c", f"{code}; {RUN_PROGRAM}", *arguments],
            env={**env, "PYTHONPATH": str(ROOT)},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    request = {
        "arguments": list(arguments),
        "env": dict(env),
        "cwd": str(cwd),
        "without": list(without),
        "constants": dict(constants),
        "clock": None if clock is None else str(clock),
        "imported": list(imported),
    }
    reader, writer = os.pipe()
    line, lock = _parent()
    try:
        with lock:
            sent = json.dumps(request).encode()
            assert len(sent) < REQUEST_BYTES_MAX, "the environment is too large"
            socket.send_fds(line, [sent], [output.fileno(), errors.fileno(), writer])
            return ForkedProcess(int(line.recv(16)), reader)
    finally:
        os.close(writer)


@cache
def _parent() -> tuple[socket.socket, threading.Lock]:
    """The line to the process that is forked, one for each process that runs tests."""
    folder = run_dir()
    folder.mkdir(exist_ok=True)
    address = folder / "forking"
    with locked(folder / "forking.lock"):
        first = None
        ours = _connect(address)
        if ours is None:
            first = _start_first(address)
            ours = _connect(address)
    assert ours is not None, "the process that is forked has ended"

    def end() -> None:
        ours.shutdown(socket.SHUT_WR)
        ours.recv(1)  # it ends when all that it started have
        if first is not None:
            first.wait()  # until the others' lines end as well

    atexit.register(end)
    return ours, threading.Lock()


def _connect(address: Path) -> socket.socket | None:
    """A line to a copy of the process that listens there; None when there is none, or it ends."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        line.connect(str(address))
        if line.recv(len(HELLO)) == HELLO:
            return line
    except OSError:
        pass
    line.close()
    return None


def _start_first(address: Path) -> subprocess.Popen[bytes]:
    """Start the process that imports the program, for all processes of a run."""
    address.unlink(missing_ok=True)
    kept = {n: v for n, v in os.environ.items() if not n.startswith("AGENTPOST_")}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(address))
        listener.listen()
        return subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno())],
            env={**kept, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )


# --- the process that is forked -------------------------------------------------------------------
def _serve(line: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Returns a request in the process made for it; None when the tests are
    done, and then everything that was started and still runs has been killed: nobody else would."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([line.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _report(running)
            continue
        sent, handles, _, _ = socket.recv_fds(line, REQUEST_BYTES_MAX, 3)
        if not sent:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return None
        output, errors, status = handles
        request = json.loads(sent)
        _import(*request["imported"])
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for handle in (line.detach(), woken, wakes, status, *running.values()):
                os.close(handle)
            return {**request, "output": output, "errors": errors}
        running[pid] = status
        os.close(output)
        os.close(errors)
        line.send(str(pid).encode())


def _import(*names: str) -> None:
    """Import what the processes to come would; the collector leaves it alone in each of them."""
    if not sys.modules.keys() >= {*names}:
        gc.disable()
        for name in names:
            import_module(name)
        gc.freeze()
        gc.enable()
    assert threading.active_count() == 1, "a process with threads cannot be forked"


def _report(running: dict[int, int]) -> None:
    """Write the exit codes of those that ended to their pipes."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        pipe = running.pop(pid)
        with suppress(BrokenPipeError):  # nobody asks any more
            os.write(pipe, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(pipe)


def _become(request: dict[str, Any]) -> None:
    """Run the command in this process, as the interpreter would run the installed program."""
    os.setsid()
    for stream, name in ((1, "output"), (2, "errors")):
        os.dup2(request[name], stream)
        os.close(request[name])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[0] = request["cwd"]
    sys.argv = ["agentpost", *request["arguments"]]
    change(request["without"], request["constants"])
    if request["clock"] is not None:
        follow_clock(request["clock"])
    sys.modules["__main__"] = ModuleType("__main__")  # typer asks it how the program was called
    try:
        import_module("agentpost.cli").main()
    except SystemExit as ended:
        _end(ended.code)


def change(without: Sequence[str], constants: Mapping[str, float | str]) -> None:
    """Make this process differ from the program as it is; see `start`."""
    for name in without:  # None: importing it fails
        sys.modules[name] = None  # type: ignore[assignment]
    for place, value in constants.items():
        module, _, name = place.rpartition(".")
        home = import_module(module)
        was = getattr(home, name)
        assert isinstance(was, int | float | Path), f"there is no number or path {place}"
        changed = Path(str(value)) if isinstance(was, Path) else value
        for each in list(sys.modules.values()):  # those too that import it by its name
            if getattr(each, "__dict__", {}).get(name) is was:
                setattr(each, name, changed)


class SetClock:
    """A clock that can be set while processes run that were started with its file.

    It stands for setting the machine's clock, which other programs share: `agentpost.clock` is the
    only place of the program that reads the time. Worker processes have the machine's own.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.seconds = 0.0
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """From now on it is wrong by so much."""
        self.seconds = seconds
        with self.file.open("r+b" if self.file.exists() else "w+b") as written:
            written.write(struct.pack("q", int(seconds * 1_000_000)))


def follow_clock(file: str) -> None:
    """Have this process ask a `SetClock` for the time."""
    from agentpost.clock import SystemClock

    with Path(file).open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), 8)

    def now(self: SystemClock) -> int:
        wrong_by: int = struct.unpack("q", shared[:8])[0]
        return time.time_ns() // 1_000 + wrong_by

    SystemClock.now = now  # type: ignore[method-assign]


def _end(code: object) -> NoReturn:
    """End as the interpreter would, but for taking every object apart: that copies all the memory
    shared with the process that was forked, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def main() -> None:
    import agentpost_offline

    for name in PLACES:
        load_command(name)
    # What each server with the built-in agent reads at its start, half a second of CPU.
    asyncio.run(agentpost_offline.WARM_UP())
    _import(*IMPORTED)
    line = copy_for_each(socket.socket(fileno=int(sys.argv[1])), patience=UNASKED_SECONDS_MAX)
    if line is None:
        return
    line.send(HELLO)
    request = _serve(line)
    if request is not None:
        _become(request)


if __name__ == "__main__":
    main()
