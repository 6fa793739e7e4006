"""Starts the workers of a parallel run by forking a process that has imported all tests.

Each worker imports the same modules, which takes three seconds of CPU, and later the same large
libraries. Here that happens once: the process that is forked collects the modules of the tests, but
no test. What a worker then does is as in one that was started with an interpreter of its own. That
is how they are started on systems other than Linux, where forking a process that has loaded system
libraries is not safe.

Run as a program, this module is what stands in a worker's place for the process that asked for it:
it hands over its standard streams and ends when the worker does.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from execnet import XSpec

BACKLOG = 64
# The program is started with the least that an interpreter can load: 15 ms instead of 100.
PROGRAM = (sys.executable, "-I", "-S", __file__)


def fork_workers(config: pytest.Config, specs: Sequence[XSpec], address: Path) -> None:
    """Have the workers that ``specs`` describe forked; to be called before they are started.

    Args:
        address: of the socket at which they are asked for; below a folder that is gone afterwards.
    """
    local = [spec for spec in specs if spec.popen and not spec.python]
    if sys.platform != "linux" or len(local) < 2 or len([*Path("/proc/self/task").iterdir()]) > 1:
        return
    address.parent.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen(BACKLOG)
    theirs, ours = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _fork_workers(listener, theirs, [str(config.rootpath), *config.args])
    listener.close()
    os.close(theirs)

    def end() -> None:
        os.close(ours)
        os.waitpid(pid, 0)

    config.add_cleanup(end)
    for spec in local:
        spec.python = shlex.join([*PROGRAM, str(address)])


# --- the process that is forked -------------------------------------------------------------------
def _fork_workers(listener: socket.socket, owner: int, arguments: list[str]) -> NoReturn:
    """Fork one for each that asks, until the owner's end of the pipe is closed."""
    try:
        _import_tests(arguments)
        line = copy_for_each(listener, owner)
        if line is not None:
            _become_worker(line)
    finally:
        os._exit(0)


def copy_for_each(
    listener: socket.socket, owner: int | None = None, patience: float | None = None
) -> socket.socket | None:
    """Fork for each process that wants a line: returns that line in the copy made for it, and None
    in this process, which has no copy any more.

    Args:
        owner: a pipe: when its other end is closed, copies that still run are killed. Without one,
            this ends with the last copy.
        patience: the seconds to wait for the first.
    """
    handles = [listener.fileno()] if owner is None else [listener.fileno(), owner]
    copies: dict[int, int] = {}  # the processes by what becomes readable when they end
    while True:
        ready, _, _ = select.select([*handles, *copies], [], [], None if copies else patience)
        for ended in copies.keys() & ready:
            os.waitpid(copies.pop(ended), 0)
            os.close(ended)
        if owner in ready or (owner is None and not copies and listener.fileno() not in ready):
            break
        if listener.fileno() in ready:
            line, _ = listener.accept()
            pid = os.fork()
            if pid == 0:
                listener.detach()
                for handle in (*handles, *copies):
                    os.close(handle)
                return line
            line.close()
            copies[os.pidfd_open(pid)] = pid
    for pid in copies.values():  # they were told to end, and got their time
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None


def _import_tests(arguments: list[str]) -> None:
    """Import the modules with tests, as collecting them does, and make what Hypothesis draws from:
    the table of characters, a second of CPU, and the constants of these modules, a quarter."""
    import pytest
    from hypothesis.internal.charmap import charmap
    from hypothesis.internal.conjecture.providers import _get_local_constants

    class NoTests:
        """A module is imported before it is asked what it has."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
            return []

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    environ = dict(os.environ)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)
    _open_streams()
    pytest.main(["-n0", "--collect-only", "--rootdir", *arguments], plugins=[NoTests()])
    charmap()
    _get_local_constants()
    os.environ.clear()
    os.environ.update(environ)


def _become_worker(line: socket.socket) -> NoReturn:
    """Do what the interpreter would that was to be started: run the line that comes first."""
    import atexit
    import threading
    from types import ModuleType

    _, handles, _, _ = socket.recv_fds(line, 1, 3)
    for stream, handle in enumerate(handles):
        os.dup2(handle, stream)
        os.close(handle)
    _open_streams()
    sys.argv = ["-c"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = sys.modules["__main__"] = ModuleType("__main__")
    try:
        exec(eval(sys.stdin.readline()), vars(main))
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(0)


def _open_streams() -> None:
    """Have Python use what the three standard descriptors are now."""
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(stream, mode, 1, closefd=False) for stream, mode in enumerate("rww")
    )


# --- in the worker's place ------------------------------------------------------------------------
def stand_in(address: str) -> None:
    """Hand over the standard streams, and wait for the end of the worker that gets them."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [b"."], [0, 1, 2])
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        line.recv(1)


if __name__ == "__main__":
    stand_in(sys.argv[1])
