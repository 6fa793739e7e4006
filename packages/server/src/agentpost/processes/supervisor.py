"""The first process that a command prefix starts: it starts a program, and ends it with all that it
has started.

    supervisor.py FOLDER PROGRAM ARGUMENT…

Run as a file with ``python -I -S``: it is there before anything of this package is imported, and it
needs nothing but the standard library (design: Steps apart).

It connects to the socket `CHANNEL` in FOLDER, which the program has as its standard input. When the
server closes the connection, or is gone, every process below this one is killed, those that left
their group or session included, and what is in the folder `OWN` of FOLDER is removed, which may be
another user's than the server's. It ends as the program did. The program gains no rights, by
``sudo`` for example.
"""

import ctypes
import os
import resource
import select
import shutil
import signal
import socket
import sys
import time
from typing import Final, NoReturn

CHANNEL: Final = "channel"
OWN: Final = "own"
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_ROUND_SECONDS: Final = 0.005
_NOT_STARTED: Final = 126
"""How it ends when the program could not be started; standard error says why."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(folder: str, command: list[str]) -> NoReturn:
    """Start the program and wait for its end, or the server's."""
    for name in _SIGNALS:
        signal.signal(name, lambda *_: None)  # a manager signals everybody; the server decides
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"{folder}/{CHANNEL}")
    except OSError as error:
        _write_error(f"the server's socket in {folder} cannot be reached: {error.strerror}")
        sys.exit(_NOT_STARTED)
    wakeups, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(command, connection, parent)
    poller = select.poll()
    poller.register(connection, select.POLLRDHUP)  # a hang-up; what comes is for the program
    poller.register(wakeups, select.POLLIN)
    status: int | None = None
    while status is None:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if connection.fileno() in ready:
            break
        os.read(wakeups, 4096)
        status = _reap(pid)
    status = _end_all(pid, status)
    for entry in os.scandir(f"{folder}/{OWN}"):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)  # noqa: PTH108 - pathlib takes as long to import as all of this
    _end_as(status)


def _become(command: list[str], connection: socket.socket, parent: int) -> NoReturn:
    """In the new process: be the program."""
    try:
        signal.set_wakeup_fd(-1)
        for name in (*_SIGNALS, signal.SIGCHLD):
            signal.signal(name, signal.SIG_DFL)
        os.dup2(connection.fileno(), 0)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        _write_error(f"{command[0]} cannot be started: {error.strerror}")
    finally:
        os._exit(_NOT_STARTED)


def _reap(pid: int) -> int | None:
    """Reap what has ended; the status of ``pid`` if it was among them."""
    status_of_pid = None
    while True:
        try:
            child_pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status_of_pid
        if child_pid == 0:
            return status_of_pid
        if child_pid == pid:
            status_of_pid = status


def _end_all(pid: int, status: int | None) -> int | None:
    """Kill every process below this one: whose parent is killed becomes a child of this one."""
    while True:
        children = _children()
        if status is None and pid not in children:
            children.append(pid)
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                continue
        exit_status = _reap(pid)
        status = exit_status if status is None else status
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return status
        time.sleep(_ROUND_SECONDS)


def _children() -> list[int]:
    """The children of this process, which has one thread; none where the system does not say."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def _end_as(status: int | None) -> NoReturn:
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        time.sleep(_ROUND_SECONDS)  # the first process of a container is not killed so
        code = 128 - code
    os._exit(code)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _write_error(text: str) -> None:
    os.write(2, f"{text}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
