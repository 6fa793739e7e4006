"""The adapters of this process by their kind. A job names its kind: it may be run by another
process than the one that started it, and each process has one agent."""

from typing import Any, TypeVar

from agentpost.agents.base import JobFailed

T = TypeVar("T")
_bound: dict[str, Any] = {}


def bind(kind: str, adapter: T) -> T:
    """Jobs of that kind are run by this adapter from now on."""
    _bound[kind] = adapter
    return adapter


def bound(kind: str) -> Any:
    """The adapter of a kind; raises `JobFailed` when the server's agent is of another one now."""
    if kind not in _bound:
        raise JobFailed("The agent that began this is no longer there.")
    return _bound[kind]
