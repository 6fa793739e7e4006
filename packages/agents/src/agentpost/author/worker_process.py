"""The worker process: runs one plain function at a time for `agentpost.processes.pool`.

Started as ``python -m agentpost.author.worker_process PARENT_PID`` with a socket as its standard
input, by a supervisor (`agentpost.processes.supervisor`) with 0 for the number. A frame is a length
(4 bytes, big-endian) and that many bytes of JSON. The first request is ``{"path": sys.path,
"imports": [module], "memory_bytes": int | None, "folder": temporary folder, "log_level": int}``,
with ``"env": variables`` for a supervised worker. Every later one is ``{"fn": ref, "args": values
text, "kwargs": values text, "key": step key, "into": path | None, "cpu": seconds | None}``.
It is answered by ``{"begun": true}`` before the function is looked for. Each gets one reply:
``{"value": values text}``, ``{"error": described error, "kinds": names of its classes, "trace":
text}`` or, as the last thing the worker says, ``{"died": reason}``.
``"lacked_memory": true`` beside an error: it came of that; ``"full": true`` in a reply: the process
is to be replaced. No pickle: what comes back is data.
"""

import contextlib
import errno
import importlib
import json
import math
import os
import resource
import select
import shutil
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from agentpost.agents import values
from agentpost.agents.base import StepFailed, current_step_key
from agentpost.author import confinement, log_records

HEADER: Final = struct.Struct(">I")
"""The length in front of each frame."""

_NICENESS: Final = 5
"""Where there are fewer processors than busy workers, the server answers first."""
_IDLE_SECONDS: Final = 3.0
"""A worker that waits for so long imports what calls to come may need."""


def frame(message: dict[str, Any]) -> bytes:
    """The bytes of one frame."""
    body = json.dumps(message).encode()
    return HEADER.pack(len(body)) + body


def main(parent: int) -> None:
    """Serve requests until the channel closes or the parent is gone."""
    os.nice(_NICENESS)
    channel = confinement.begin(parent)
    requests = channel.makefile("rb")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        hello = _receive(requests)
        if hello is None:
            return
        confinement.settle(hello)
        confinement.limit_memory(hello["memory_bytes"])
        log_records.install(hello["log_level"])
        channel.sendall(frame({"value": "null"}))
        while True:
            import_while_idle(
                hello["imports"], lambda seconds: not select.select([channel], [], [], seconds)[0]
            )
            request = _receive(requests)
            if request is None:
                return
            channel.sendall(frame({"begun": True}))
            with _cpu_limit(request["cpu"]):
                reply = _handle_request(request, hello)
            with contextlib.suppress(AttributeError, OSError, ValueError):
                sys.stdout.flush()  # whatever the function has made of it
                sys.stderr.flush()
            if confinement.has_filled_memory(hello["memory_bytes"]):
                reply["full"] = True
            channel.sendall(frame(reply))
            if "died" in reply:
                return


def import_while_idle(modules: list[str], idle_for: Callable[[float], bool]) -> None:
    """Import one after the other, and take it from the list, while nobody asks for anything: the
    call that needs it is answered sooner. ``idle_for`` waits for so many seconds, and is False when
    a request comes."""
    pause = _IDLE_SECONDS
    while modules and idle_for(pause):
        pause = 0.0
        with contextlib.suppress(Exception, SystemExit):  # the call that needs it says why
            importlib.import_module(modules.pop(0))


def _handle_request(request: dict[str, Any], hello: dict[str, Any]) -> dict[str, Any]:
    token = current_step_key.set(request["key"])
    try:
        kwargs = values.load(request["kwargs"], None)
        result = values.resolve(request["fn"])(*values.load(request["args"], None), **kwargs)
        if not request["into"]:
            return {"value": values.dump(result)}
        into = Path(request["into"])
        put_result(result, into, Path(hello["folder"]))
        if "env" in hello:
            into.chmod(0o644)  # the server may be another user
        return {"value": "null"}
    except MemoryError as error:
        most = hello["memory_bytes"]
        return {"died": confinement.why_out_of_memory(error, most, "worker_memory_bytes")}
    except BaseException as error:
        return _failure(error)
    finally:
        current_step_key.reset(token)


def _failure(error: BaseException) -> dict[str, Any]:
    reply = values.describe_failure(error)
    if isinstance(error, SystemExit):
        failed = StepFailed(f"the function called sys.exit({error.code!r})")
        reply |= {"error": values.describe_error(failed), "kinds": values.class_names(failed)}
    return reply | {"lacked_memory": True} if _has_lacked_memory(error) else reply


def _has_lacked_memory(error: BaseException | None) -> bool:
    """Whether it came of too little memory, which authors and libraries may tell in other words."""
    causes: set[int] = set()
    while error is not None and id(error) not in causes:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        causes.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def put_result(result: object, into: Path, own_folder: Path | None = None) -> None:
    """Write what a function for a file has returned. A file of ``own_folder`` is moved: it is a
    temporary one of this worker, and nobody else needs it. Raises `TypeError`."""
    if isinstance(result, bytes | bytearray | memoryview):
        into.write_bytes(result)
    elif isinstance(result, str):
        into.write_text(result, encoding="utf-8", newline="")
    elif isinstance(result, Path):
        path = result.resolve(strict=True)
        if own_folder is not None and path.is_relative_to(own_folder.resolve()):
            shutil.move(path, into)
        else:
            shutil.copyfile(path, into)
    else:
        kind = type(result).__qualname__
        raise TypeError(f"the function must return bytes, str or Path for a file, not {kind}")


def _receive(requests: BinaryIO) -> dict[str, Any] | None:
    header = requests.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    body = requests.read(length)
    return json.loads(body) if len(body) == length else None


@contextlib.contextmanager
def _cpu_limit(seconds: float | None) -> Iterator[None]:
    """Inside: this process may use that much more CPU time, in whole seconds, rounded up."""
    if seconds is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_CPU)
    confinement.limit_cpu_time(math.ceil(time.process_time() + seconds))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


if __name__ == "__main__":
    main(int(sys.argv[1]))
