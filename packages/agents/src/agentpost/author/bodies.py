"""The functions that steps run and the contents that are written, as their calls name them."""

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any

from agentpost.agents import values
from agentpost.domain.text import agent_text

Body = Callable[..., Any]
_NAME_CHARACTERS_MAX = 100


def name_of(fn: Body) -> str:
    """How a body is named in its call's fingerprint."""
    return f"{fn.__module__}:{getattr(fn, '__qualname__', type(fn).__qualname__)}"


def checked_name(fn: Body, name: str | None = None) -> str:
    """The same for a body that is to run, or the name that the author gave. Raises `TypeError` for
    a plain function that no worker process could import, `ValueError` for a name that cannot be."""
    if not inspect.iscoroutinefunction(fn):
        values.function_ref(fn)
    if name is None:
        return name_of(fn)
    if not isinstance(name, str) or not 1 <= len(name) <= _NAME_CHARACTERS_MAX:
        raise ValueError(f"the name of a step is a text of 1 to {_NAME_CHARACTERS_MAX} characters")
    return agent_text(name)


class Spilled(PosixPath):
    """A file with bytes that an agent process has put there for the server."""


def checked_contents(data: object) -> bytes | Path:
    """Contents, a text as its bytes. Raises `TypeError` for what is none of them."""
    if isinstance(data, str):
        return data.encode()
    if not isinstance(data, bytes | Path):
        raise TypeError(f"contents are bytes, text or a Path, not {type(data).__name__}")
    return data


def content_mark(data: object) -> str:
    """How contents count in a call's fingerprint: bytes by their hash, a path by its kind. Raises
    as `checked_contents`."""
    contents = checked_contents(data)
    return "path" if isinstance(contents, Path) else hashlib.sha256(contents).hexdigest()
