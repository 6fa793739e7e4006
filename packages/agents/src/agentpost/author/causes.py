"""Why an author's code failed: a line for `agentpost explain`, and the traceback for the log."""

import traceback
from pathlib import Path
from typing import Final

import agentpost
from agentpost.agents import CannotSucceed, JobFailed, registry, values

_CHARACTERS_MAX: Final = 500
_CAUSE: Final = "_agentpost_cause"
_CANNOT_SUCCEED: Final = f"{CannotSucceed.__module__}:{CannotSucceed.__qualname__}"
_OURS: Final = tuple(agentpost.__path__)
"""The folders of this library and, where it is installed, of the server."""


def is_lasting(error: JobFailed) -> bool:
    """Whether the author said that the same request would fail again, wherever it was raised."""
    return _CANNOT_SUCCEED in values.class_names(error)


def remember_cause(error: BaseException, cause: str) -> None:
    """Let `cause_of` answer this: the exception was raised in another process."""
    setattr(error, _CAUSE, cause)


def cause_of(error: BaseException) -> str:
    """The exception with its innermost line in the author's code:
    ``KeyError: 'total' (orders.py, line 12, in handle)``."""
    cause: str | None = getattr(error, _CAUSE, None)
    if cause is not None:
        return cause
    text = "".join(traceback.format_exception_only(error)).partition("\n")[0]
    cut = text if len(text) <= _CHARACTERS_MAX else f"{text[: _CHARACTERS_MAX - 1]}…"
    place = _place(error)
    return f"{cut} ({place})" if place else cut


def author_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, with the lines of the author's code only."""
    formatted = traceback.TracebackException.from_exception(error, compact=True)
    link: traceback.TracebackException | None = formatted
    while link is not None:
        lines = [frame for frame in link.stack if _is_author_file(frame.filename)]
        link.stack = traceback.StackSummary.from_list(lines)
        link = link.__cause__ or link.__context__
    return "".join(formatted.format()).rstrip()


def _place(error: BaseException) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if _is_author_file(frame.filename):
            return f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
    return None


def _is_author_file(filename: str) -> bool:
    is_ours = any(Path(filename).is_relative_to(folder) for folder in _OURS)
    return not is_ours and not registry.is_installed(filename)
