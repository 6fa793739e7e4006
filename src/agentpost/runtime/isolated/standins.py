"""What stands on the server's side for the functions, errors and contents of an agent process."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentpost.agents import JobFailed, Said, values
from agentpost.runtime.causes import remember_cause
from agentpost.runtime.isolated.frames import Frame
from agentpost.runtime.outputs import Spilled
from agentpost.runtime.run_turn import TurnRun


def said_text(said: Said) -> str:
    """What was said, as values."""
    return values.dump_local(said_fields(said))


def said_fields(said: Said) -> dict[str, Any]:
    """What was said, by its fields."""
    return {
        "role": said.role,
        "text": said.text,
        "files": list(said.files),
        "at": said.at,
        "message_id": said.message_id,
    }


def contents(frame: Frame) -> bytes | Path:
    """The contents that `isolated.calls.contents` has made a frame of."""
    if "base64" in frame:
        return base64.b64decode(frame["base64"])
    if "spilled" in frame:
        spilled = Spilled(frame["spilled"])
        spilled.mark = frame["mark"]
        return spilled
    return Path(frame["path"])


def exception_class(name: str, base: type[Exception] = Exception) -> type[Exception]:
    """A class of that name: classes of the author's are told by their names."""
    module, _, qualname = name.partition(":")
    kind = type(qualname.rpartition(".")[2], (base,), {"__module__": module})
    kind.__qualname__ = qualname
    return kind


def raised(failed: Frame) -> Exception:
    """The exception that `isolated.frames.failure` has made a frame of. One that is to fail the job
    with its own text does so here too."""
    described, kinds = failed["error"], failed["kinds"]
    error = values.stand_in_error(described)
    if f"{JobFailed.__module__}:{JobFailed.__qualname__}" in kinds:
        error = exception_class(described["type"], JobFailed)(described["text"])
    values.remember_class_names(error, kinds)
    remember_cause(error, failed["cause"])
    error.add_note(f"In an agent process:\n{failed['trace']}")
    return error


def unreachable_function() -> Callable[..., Any]:
    """To be given the name of a plain function, which a worker process runs."""

    def stand_in(*_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("a worker process runs it")

    return stand_in


def unreachable_job() -> Callable[..., Coroutine[Any, Any, str | None]]:
    """To be given the name of a job, which an agent process runs."""

    async def stand_in(*_args: Any, **_kwargs: Any) -> str | None:
        raise AssertionError("an agent process runs it")

    return stand_in


async def raising(error: BaseException) -> Any:
    """A call that raises."""
    raise error


async def awaited(call: Awaitable[Any]) -> Any:
    """The call as a coroutine."""
    return await call


async def as_dict(call: Awaitable[Any]) -> Any:
    """The answer of a call by its fields."""
    return asdict(await call)


async def inbox(call: Awaitable[list[Said]]) -> Any:
    """What `Job.inbox` is given by the journal."""
    return [[said.message_id, said.text, said.at] for said in await call]


async def history(turn: TurnRun) -> Any:
    """What was said before in the conversation of a turn."""
    return [said_fields(said) for said in turn.history]


async def and_forget(call: Awaitable[Any], data: object) -> Any:
    """Nobody needs the file that carried the contents here."""
    try:
        return await call
    finally:
        if isinstance(data, Spilled):
            data.unlink(missing_ok=True)
