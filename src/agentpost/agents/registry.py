"""From the setting ``AGENT`` to an agent function (design: 5)."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentpost.agents.base import AgentFn

OFFLINE = "agentpost.agents.offline:agent"


class UnknownAgent(Exception):
    """The setting names no agent; the text says what is wrong and what would do."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent function with the name clients see."""

    name: str
    run: AgentFn


def resolve(spec: str) -> Agent:
    """The agent a setting names: ``offline`` or ``module:object``; raises `UnknownAgent`."""
    if spec == "offline":
        return Agent("offline", _load(OFFLINE))
    scheme, _, rest = spec.partition(":")
    if not scheme or not rest:
        raise UnknownAgent(f"AGENTPOST_AGENT={spec!r} is neither 'offline' nor 'module:object'.")
    return Agent(_name(spec), _load(spec))


def _load(spec: str) -> AgentFn:
    module_name, _, attribute = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.split(".")[0] != error.name.split(".")[0]:
            raise  # the agent's module is there, something it imports is not
        raise UnknownAgent(
            f"AGENTPOST_AGENT={spec!r}: there is no module {module_name!r} in {here}"
            " or on PYTHONPATH."
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UnknownAgent(f"AGENTPOST_AGENT={spec!r}: {module_name} has no {attribute!r}.")
        found = getattr(found, part)
    return _checked(spec, found)


def _checked(spec: str, found: Any) -> AgentFn:
    method = getattr(type(found), "__call__", None)  # noqa: B004 - an object may be the agent
    call = found if inspect.isroutine(found) else method
    if not inspect.iscoroutinefunction(call):
        kind = f"{type(found).__module__}.{type(found).__qualname__}"
        raise UnknownAgent(
            f"AGENTPOST_AGENT={spec!r} is a {kind}; it must be a coroutine function:"
            " async def agent(turn)."
        )
    run: AgentFn = found
    return run


def _name(spec: str) -> str:
    """``shop.support:agent`` is called ``support``: the object's name says nothing."""
    module, _, attribute = spec.partition(":")
    return module.rpartition(".")[2] if attribute == "agent" else attribute
