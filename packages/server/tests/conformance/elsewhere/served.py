"""The agent of the suite's server: each message goes to the adapter its conversation names."""

import importlib
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from agentpost.agents import Turn, registry
from agentpost.agents.adapters import conversing
from agentpost.agents.adapters.bound import bind
from agentpost.agents.adapters.recording import Charge
from agentpost.agents.llm import agent as llm
from agentpost.bootstrap import surroundings, way_out
from agentpost.settings import load_settings
from tests.conformance.elsewhere import (
    brain,
    several,
    with_langgraph,
    with_openai_agents,
    with_pydantic_ai,
)

PROGRAM = Path(__file__).with_name("program.py")


def framework(
    found: object, kind: str | None = None, charge: Charge | None = None
) -> Callable[[Turn], Awaitable[None]]:
    """As the registry does it; one of a further ``kind`` stands beside another of its framework."""
    adapter = registry.adapter_of(found)
    assert adapter is not None
    made = getattr(importlib.import_module(adapter[0]), adapter[1])(found, charge)
    made.kind = kind or made.kind
    bind(made.kind, made)
    return partial(conversing.take_turn, made)


def program() -> Callable[[Turn], Awaitable[None]]:
    made = registry.resolve(f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))}")
    attached(made)
    return made.run


def agent_at(variable: str) -> Callable[[Turn], Awaitable[None]]:
    made = registry.resolve(os.environ[variable])
    attached(made)
    return made.run


def model_service() -> Callable[[Turn], Awaitable[None]]:
    """A model behind the test's stub, with the tools of the others beside its own."""
    made = llm.agent_of("openai:stub-1", brain.TOOLS)
    attached(made)
    return made.take_turn


def attached(made: registry.Agent | llm.Llm) -> None:
    """Give it what a server has for its only agent."""
    settings = load_settings()
    assert made.attach is not None
    made.attach(surroundings(settings, way_out(settings)))


def price(usage: dict[str, Any]) -> float:
    assert usage["input_tokens"] > 0
    assert usage["output_tokens"] > 0
    return 0.25


AGENTS = {
    "charged": framework(with_pydantic_ai.agent, "charged", price),
    "pydantic-ai": framework(with_pydantic_ai.agent),
    "langgraph": framework(with_langgraph.graph),
    "openai-agents": framework(with_openai_agents.agent),
    "several-pydantic-ai": framework(several.pydantic_ai, "several-pydantic-ai"),
    "several-langgraph": framework(several.langgraph, "several-langgraph"),
    "several-openai-agents": framework(several.openai_agents, "several-openai-agents"),
}
if os.environ.get("TEST_AGENT_PROCESSES", "0") == "0":  # none of these runs in an agent process
    AGENTS |= {
        "cmd": program(),
        "http": agent_at("TEST_SERVICE"),
        "a2a": agent_at("TEST_A2A"),
        "llm": model_service(),
    }


async def agent(turn: Turn) -> None:
    """The conversation's name is the adapter's, and a word behind a slash."""
    name = turn.conversation.partition("/")[0]
    if name not in AGENTS:
        AGENTS[name] = from_page(*name.split(":"))
    await AGENTS[name](turn)


def from_page(module: str, name: str) -> Callable[[Turn], Awaitable[None]]:
    """A program of the documentation, which the test has put into this folder."""
    found = getattr(importlib.import_module(module), name)
    if module == "booking_agent":
        found.model = with_openai_agents.Brain()  # the one on the page needs a key
    return framework(found, module)
