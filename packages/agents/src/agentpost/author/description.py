"""What an agent process says of its agent to a server that does not import it."""

import json
from typing import Any, Final

from agentpost.agents import registry
from agentpost.author.frames import PROTOCOL
from agentpost.extras import MissingExtra

MARK: Final = "\x1eagentpost-agent "
"""What comes before the answer, below whatever the agent's module prints."""


def say(spec: str) -> None:
    """Print it, below what the agent's module prints."""
    answer: dict[str, Any]
    try:
        agent = registry.resolve(spec)
        answer = {
            "name": agent.name,
            "imports": agent.worker_imports,
            "examples": agent.examples,
        }
    except (registry.UnknownAgent, MissingExtra) as error:
        answer = {"error": str(error)}
    print(f"{MARK}{json.dumps({**answer, 'protocol': PROTOCOL})}", flush=True)
