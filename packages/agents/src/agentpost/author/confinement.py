"""What the processes that run author's code do to themselves at their start: they end with the
server, and within limits."""

import contextlib
import faulthandler
import fcntl
import gc
import io
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_PARENT_CHECK_SECONDS: Final = 0.5
_PR_SET_PDEATHSIG: Final = 1
_FULL_SHARE: Final = 0.5
"""A process that holds more of its memory takes no further call."""


def begin(parent: int) -> socket.socket:
    """The first thing that each of these processes does: it ends with its parent (0: the one that
    it has), outlives a signal to its group, and gives way. Returns its channel to the server."""
    die_with(parent or os.getppid())
    channel = _take_channel()
    # A service manager signals the whole group; when this process ends is the server's decision. A
    # handler instead of SIG_IGN, because programs started by a step would inherit the latter.
    signal.signal(signal.SIGTERM, lambda *_: None)
    faulthandler.enable()
    _go_first_when_memory_is_short()
    _die_of_cpu_time()
    return channel


def _at_most(kind: int, most: int) -> int:
    """The limit of a resource, no higher than the system lets it be."""
    _, hard = resource.getrlimit(kind)
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _take_channel() -> socket.socket:
    """Move the channel away from the standard streams, which are the functions'."""
    # Above the standard streams even if one was closed; not inherited by started programs.
    channel = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return channel


def settle(hello: Mapping[str, Any]) -> None:
    """Find the modules that the server finds, or those in ``folders`` and of this interpreter; in a
    process that a command prefix has started, use the environment and the temporary folder that the
    server sends."""
    sys.path[:] = hello["path"] if "path" in hello else [*hello["folders"], *sys.path]
    if "env" in hello:
        os.umask(0o077)
        os.environ.update(hello["env"])
        tempfile.tempdir = hello["folder"]


def die_with(parent: int) -> None:
    """End this process when the parent is gone, however it went and whatever runs here.

    On Linux the kernel does it at once, even while C code holds the interpreter. It acts on the
    end of the *thread* that started the worker, which is the agent loop's. Where it does not, a
    thread looks for the parent.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_CHECK_SECONDS)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # with the programs a function has started
        os._exit(1)

    is_up_to_the_kernel = False
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None)
        is_up_to_the_kernel = libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
    if not is_up_to_the_kernel:
        threading.Thread(target=watch, name="parent-watch", daemon=True).start()
    if os.getppid() != parent:  # it died before the kernel was told
        os._exit(1)


def limit_cpu_time(seconds: int) -> None:
    """Limit the processor time of this process, from its start on."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(resource.RLIMIT_CPU, seconds), hard))


def limit_memory(limit: int | None) -> None:
    """Limit what a process may write to that is its own, whether it uses it or not.

    Not its address space: libraries reserve far more of that than they use, the more so the more
    processors there are (thread stacks, allocator arenas, mapped files).
    """
    if limit is not None and sys.platform == "linux":  # elsewhere the limit is not enforced
        most = _at_most(resource.RLIMIT_DATA, limit)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def has_filled_memory(limit: int | None) -> bool:
    """Whether this process holds so much of its limited memory, although nothing runs in it, that
    a next call might lack it."""
    if limit is None or written_bytes() <= limit * _FULL_SHARE:
        return False
    gc.collect()
    return written_bytes() > limit * _FULL_SHARE


def written_bytes() -> int:
    """What the limit counts (see `limit_memory`); 0 where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def why_out_of_memory(error: MemoryError, limit: int | None, setting: str) -> str:
    """Why this process ends at a `MemoryError`: its heap is full or in pieces, and a fresh process
    is the only sound way on."""
    advice = f" (the limit is {limit >> 20} MiB); the setting {setting} raises it" if limit else ""
    return f"it ran out of memory{advice}: {error}".removesuffix(": ")


def _go_first_when_memory_is_short() -> None:
    """Let the system end a worker, not the server or the database beside it (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _die_of_cpu_time() -> None:
    """At the end of its CPU time: where it was goes to the log, then the kernel ends the process.

    A handler in Python would not run while C code works; what it raised could be caught.
    """
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    faulthandler.register(signal.SIGXCPU, chain=True)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # the default action would write a core
