"""Starts a process as another user, or inside a container, and ends it with all that it started.

    supervisor.py [--user UID:GID] [--wrapper | --plain] [--channel PATH] -- PROGRAM ARGUMENT…

Run as a file with ``python -I -S``: it is there before anything of this package is imported, and it
needs nothing but the standard library (design: Steps apart).

It holds the server's connection too, as its standard input, or connects to the Unix socket PATH,
which the program then has as its standard input. When the server closes it, or is gone, every
process below this one is killed, those that left their group or session included. A step cannot
prevent that: outside a container this process keeps the server's user, inside it is the first one.
It ends as the program did.

With ``--user`` the program has that user and group, no other groups and no capabilities.
``--wrapper``: what is started starts the program in its turn. It may gain rights, as some programs
that make containers do, and the connection is not for it. ``--plain``: this process itself becomes
the program, with the standard input it has; nobody watches it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_CAPABILITY_VERSION_3: Final = 0x20080522
_ROUND_SECONDS: Final = 0.005
NOT_STARTED: Final = 126
"""How it ends when the program could not be started; standard error says why."""


@dataclass(frozen=True)
class Options:
    """See the module."""

    command: Sequence[str]
    user: tuple[int, int] | None = None
    wrapper: bool = False
    plain: bool = False
    channel: str | None = None


def parse(arguments: Sequence[str]) -> Options:
    """The options; raises `ValueError` for what they are not."""
    left = list(arguments)
    user: tuple[int, int] | None = None
    wrapper, plain, channel = False, False, None
    while left and left[0] != "--":
        name = left.pop(0)
        if name == "--user":
            uid, _, gid = left.pop(0).partition(":")
            user = (int(uid), int(gid))
        elif name == "--wrapper":
            wrapper = True
        elif name == "--plain":
            plain = True
        elif name == "--channel":
            channel = left.pop(0)
        else:
            raise ValueError(f"there is no option {name}")
    return Options(left[1:], user, wrapper, plain, channel)


def main(options: Options) -> NoReturn:
    """Start the program and wait for its end, or the server's."""
    if options.plain:
        _run(options)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda *_: None)  # a manager signals everybody; the server decides
    if options.channel is None:
        leash = socket.socket(fileno=os.dup(0))
    else:
        leash = socket.socket(socket.AF_UNIX)
        try:
            leash.connect(options.channel)
        except OSError as error:
            _say(f"the server's socket {options.channel} cannot be reached: {error.strerror}")
            sys.exit(NOT_STARTED)
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(options, leash, parent)
    polled = select.poll()
    polled.register(leash, select.POLLRDHUP)  # a hang-up; what is said is the program's to read
    polled.register(woken, select.POLLIN)
    status: int | None = None
    while status is None:
        ready = {descriptor for descriptor, _ in polled.poll()}
        if leash.fileno() in ready:
            break
        os.read(woken, 4096)
        status = _reaped(pid)
    status = _end_all(pid, status)
    _end_as(status)


def _become(options: Options, leash: socket.socket, parent: int) -> NoReturn:
    """In the new process: be what it is to be."""
    signal.set_wakeup_fd(-1)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    if options.wrapper:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
    else:
        os.dup2(leash.fileno(), 0)
    _run(options, parent)


def _run(options: Options, parent: int | None = None) -> NoReturn:
    """Be the user, and run the program in this process; ``parent``: it ends with that one."""
    try:
        if options.user is not None:
            uid, gid = options.user
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            give_up_capabilities()
        if not options.wrapper:
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if parent is not None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # after the user: a change clears it
            if os.getppid() != parent:
                os._exit(1)
        os.execvp(options.command[0], list(options.command))  # noqa: S606
    except OSError as error:
        _say(_refusal(options, error))
    finally:
        os._exit(NOT_STARTED)


def _refusal(options: Options, error: OSError) -> str:
    program = options.command[0]
    who = "" if options.user is None else f" by the user {options.user[0]}"
    closed = closed_folder(program)
    why = f": {closed} is closed to it" if closed else ""
    return f"{program} cannot be started{who} ({error.strerror}){why}"


def closed_folder(path: str) -> str | None:
    """The first folder on the way to ``path`` that this process may not enter, links followed."""
    for way in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):  # noqa: PTH100
        parts = way.split("/")[1:-1]
        for number in range(len(parts)):
            folder = "/" + "/".join(parts[: number + 1])
            if not os.access(folder, os.X_OK):
                return folder
    return None


def give_up_capabilities() -> None:
    """Keep none: from one user that is not root to another, the system would leave them all."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    if libc.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "its capabilities cannot be given up")


def _reaped(pid: int) -> int | None:
    """Reap whatever has ended; the status of ``pid`` if it was among them."""
    found = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if ended == 0:
            return found
        if ended == pid:
            found = status


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
        ended = _reaped(pid)
        status = ended if status is None else status
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return status
        time.sleep(_ROUND_SECONDS)


def _children() -> list[int]:
    """The children of this process, which has one thread; none where the system does not say."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:  # noqa: PTH123
            return [int(child) for child in listed.read().split()]
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


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode())


if __name__ == "__main__":
    main(parse(sys.argv[1:]))
