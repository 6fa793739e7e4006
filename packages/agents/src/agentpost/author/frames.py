"""What a server and its agent process say to each other.

A frame is a length (4 bytes, big-endian) and that many bytes of JSON, over a pair of sockets that
nobody else has. "Values" below are texts made by `agents.values`.

The server says first ``{"path" or "folders", "spec", "folder", "memory_bytes", "cpu_seconds",
"stall_seconds", "log_level"}``; the process answers ``{"ready": true}``, or ``{"unknown": text}``
and ends. Then:

===============================  ================================================================
From the server
===============================  ================================================================
``run``, ``turn`` or ``job``     run that turn or job under the number ``run``
``run``, ``cancel``              end it, with that argument; answered by ``cancelled`` at once
``run``, ``id``, ``value``       what a call returned, as values
``run``, ``id``, ``error``       what it raised
``run``, ``id``, ``stopped``     the run is over
``run``, ``id``, ``body``        run the body of that step; the value is the step's key; ``try``
                                 is the number of the try, from 1
``run``, ``id``, ``give_up``     the time of that try is over: end its body, and wait for what is
                                 next
===============================  ================================================================

===============================  ================================================================
From the process
===============================  ================================================================
``run``, ``id``, ``op``, …       a call, numbered in the order of these frames (`request_frame`);
                                 ``in`` is the step whose body makes it
``run``, ``go``                  the call of that id is awaited now: make it
``run``, ``drop``                nobody awaits it any more
``run``, ``id``, ``done``        what came of a body, in that ``try``
``run``, ``delta``, ``reset``    a piece of text to show
``run``, ``output``              the output of a turn, as JSON
``run``, ``end``                 the function has returned or raised
``beat``                         every second while something runs: CPU time and memory used
``stalled``, ``run``, ``stack``  the loop is held for too long, by that run if it is known
``died``, ``run``                the process cannot go on and ends
``log``                          a line for the server's log
===============================  ================================================================
"""

import base64
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentpost.agents import Backoff, JobFailed, Said, values
from agentpost.agents.files import FileSource
from agentpost.author.bodies import Spilled, checked_contents, name_of
from agentpost.author.causes import cause_of, remember_cause
from agentpost.author.objects import Contents, JobInputs, Request, TurnInputs
from agentpost.author.retrying import Retry
from agentpost.domain.file_names import check_path

Frame: TypeAlias = dict[str, Any]
PROTOCOL: Final = 1
"""The version of what is said here and to worker processes. It grows with each change, since a
server and its agent's environment may have different versions of `agentpost-agents`."""
INLINE_BYTES_MAX: Final = 256 * 1024
"""Contents up to this size are part of a frame; larger ones go through a file."""


# --- inputs ---------------------------------------------------------------------------------------
def inputs_frame(inputs: TurnInputs | JobInputs) -> Frame:
    """What a run begins with, for its process."""
    return {**vars(inputs), "message": values.dump_local(said_fields(inputs.message))}


def said_fields(item: Said) -> Frame:
    """What was said, by its fields."""
    return {name: getattr(item, name) for name in ("role", "text", "files", "at", "message_id")}


def said_of(fields: Frame) -> Said:
    """What was said, of its fields."""
    return Said(**{**fields, "files": tuple(fields["files"])})


# --- calls ----------------------------------------------------------------------------------------
def request_frame(request: Request, *, is_body_here: bool) -> Frame:
    """A call, for the server; ``is_body_here``: its function runs in the process that sends it.

    Raises like `values.dump`.
    """
    frame: Frame = {
        "op": request.name,
        "head": values.dump(request.head),
        "tail": values.dump(request.tail),
        "price": request.price,
        "seconds": request.seconds,
    }
    if request.args is not None:
        frame |= {"args": values.dump(request.args), "kwargs": values.dump(request.kwargs)}
    if request.fn is not None and is_body_here:
        frame["body"] = name_of(request.fn)
    elif request.fn is not None:
        frame["fn"] = values.function_ref(request.fn)
    if request.data is not None:
        frame["data"] = contents_frame(request.data)
    if request.retry != Retry():
        retry, kinds = request.retry, request.retry.on
        names = None if kinds is None else [f"{k.__module__}:{k.__qualname__}" for k in kinds]
        pauses = [retry.backoff.first, retry.backoff.factor, retry.backoff.maximum]
        frame["retry"] = [retry.most, names, pauses]
    return frame


def request_of(frame: Frame, source: FileSource, body: Callable[..., Any] | None) -> Request:
    """The call of a frame, whose files are read through ``source``; ``body`` runs its function
    where that is in the author's process. Raises what its checks raise: the author's process made
    it."""
    price = frame["price"]
    if type(price) is not int or price < 0:
        raise ValueError("a price is a whole number of millionths from 0")
    head = tuple(values.load(frame["head"], source))
    if frame["op"] == "write":
        check_path(head[0])
    if frame["op"] == "charge":
        head = (price, *head[1:])
    if "fn" in frame:
        body = values.elsewhere(_unreachable_function(), frame["fn"])
    args, retry = frame.get("args"), Retry()
    if "retry" in frame:
        most, names, pauses = frame["retry"]
        kinds = None if names is None else tuple(map(values.exception_class, names))
        retry = Retry(most, kinds, Backoff(*pauses))
    return Request(
        name=frame["op"],
        head=head,
        args=None if args is None else tuple(values.load(args, source)),
        tail=tuple(values.load(frame["tail"], source)),
        kwargs={} if args is None else values.load(frame["kwargs"], source),
        fn=body,
        data=contents_of(frame["data"]) if "data" in frame else None,
        price=price,
        seconds=frame["seconds"],
        retry=retry,
    )


def _unreachable_function() -> Callable[..., Any]:
    """To be given the name of a plain function, which a worker process runs."""

    def stand_in(*_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("a worker process runs it")

    return stand_in


def contents_frame(data: Contents) -> Frame:
    """What is to be written, as a part of a frame."""
    if isinstance(data, Spilled):
        return {"spilled": str(data)}
    contents = checked_contents(data)
    if isinstance(contents, Path):
        return {"path": str(contents.absolute())}
    if len(contents) <= INLINE_BYTES_MAX:
        return {"base64": base64.b64encode(contents).decode()}
    file = new_spilled()
    file.write_bytes(contents)
    return {"spilled": str(file)}


def new_spilled() -> Spilled:
    """An empty file in the temporary folder, which the server can read also as another user."""
    descriptor, name = tempfile.mkstemp(prefix="contents-")
    os.fchmod(descriptor, 0o644)
    os.close(descriptor)
    return Spilled(name)


def contents_of(frame: Frame) -> bytes | Path:
    """The contents that `contents_frame` has made a frame of."""
    if "base64" in frame:
        return base64.b64decode(frame["base64"])
    return Spilled(frame["spilled"]) if "spilled" in frame else Path(frame["path"])


# --- errors ---------------------------------------------------------------------------------------
def failure(error: BaseException) -> Frame:
    """An exception as data, with the line for the operator."""
    return {**values.describe_failure(error), "cause": cause_of(error)}


def failure_error(frame: Frame) -> Exception:
    """The exception that `failure` has made a frame of. One that is to fail the job with its own
    text does so here too."""
    description, kinds = frame["error"], frame["kinds"]
    error = values.stand_in_error(description)
    if f"{JobFailed.__module__}:{JobFailed.__qualname__}" in kinds:
        error = values.exception_class(description["type"], JobFailed)(description["text"])
    values.remember_class_names(error, kinds)
    remember_cause(error, frame["cause"])
    error.add_note(f"In an agent process:\n{frame['trace']}")
    return error
