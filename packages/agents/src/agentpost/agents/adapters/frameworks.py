"""Which framework an object is of, told by the names of its classes: nothing is imported for it."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

from agentpost.agents.adapters import conversing
from agentpost.agents.adapters.bound import bind
from agentpost.agents.adapters.recording import Charge
from agentpost.agents.base import Turn

_KNOWN: Final = {
    ("pydantic_ai", "AbstractAgent"): ("agentpost.agents.adapters.pydantic_ai", "PydanticAI"),
    ("langgraph", "Pregel"): ("agentpost.agents.adapters.langgraph", "LangGraph"),
    ("agents.agent", "Agent"): ("agentpost.agents.adapters.openai_agents", "OpenAIAgents"),
}
"""The package, or module, and the class that an object has among its classes, and the adapter for
it. A package called agents may be anybody's."""


def adapter_of(candidate: object) -> tuple[str, str] | None:
    """Module and class of the adapter for an object; None when it is of no known framework."""
    for kind in type(candidate).__mro__:
        for place in (kind.__module__, kind.__module__.partition(".")[0]):
            if (place, kind.__name__) in _KNOWN:
                return _KNOWN[place, kind.__name__]
    return None


def adapt(
    adapter: tuple[str, str], framework_object: object, charge: Charge | None
) -> Callable[[Turn], Awaitable[None]]:
    """The agent function for a framework's object, whose jobs are run by this process too.

    Args:
        charge: the credits for what a model call used; None: nothing.
    """
    module, name = adapter
    make = cast("Any", getattr(importlib.import_module(module), name))
    framework = make(framework_object, charge)
    bind(framework.kind, framework)
    return partial(conversing.take_turn, framework)
