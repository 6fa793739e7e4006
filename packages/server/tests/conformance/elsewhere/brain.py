"""What the models of all tested agents answer: a few words decide what happens.

Each model and each tool leaves a trace, so that a test sees how often it ran.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentpost.agents import JobFailed, step_key
from agentpost.agents.adapters import current


@dataclass(frozen=True)
class Call:
    """A tool that the model wants called."""

    name: str
    args: dict[str, str]


def leave(trace: str) -> None:
    with Path(os.environ["TEST_TRACE"]).open("a") as file:
        file.write(f"{trace}\n")


async def pass_gate(name: str) -> None:
    """Say that it was reached, and wait until the test opens it."""
    gates = Path(os.environ["TEST_GATES"])
    (gates / f"{name}.reached").touch()
    while not (gates / name).exists():  # noqa: ASYNC110 - it is opened from another process
        await asyncio.sleep(0.02)


def decide(kind: str, users: Sequence[str], results: Sequence[str]) -> str | Call:
    """The answer to what the user said, given the results of tools since the last of it."""
    leave(f"{kind}.model.{users[-1].partition(' ')[0]}.{len(results)}")
    return decided(kind, users, results)


SEVERAL = [
    Call("ask_user", {"question": "Which colour?"}),
    Call("draw", {"name": "chart.txt"}),
    Call("ask_user", {"question": "How many?"}),
]
"""What the model wants at once after the word "several"."""


def decided(kind: str, users: Sequence[str], results: Sequence[str]) -> str | Call:
    """As `decide`, without a trace: for a model outside of the server."""
    word = users[-1].partition(" ")[0]
    done = len(results)
    plans = {
        "draw": [Call("draw", {"name": "chart.txt"})],
        "book": [Call("book", {"room": "garden"})],
        "order": [Call("reserve", {}), Call("pay", {"gate": f"{kind}.pay"})],
        "wait": [Call("wait_at", {"gate": f"{kind}.wait"})],
        "hang": [Call("wait_at", {"gate": f"{kind}.hang"})],
        "fail": [Call("refuse", {})],
        "ask": [Call("ask_user", {"question": "Which colour?"})],
    }
    plan = plans.get(word, [])
    if done < len(plan):
        return plan[done]
    return f"You said: {' | '.join(users)}. Found: {', '.join(results) or 'nothing'}."


def pieces(text: str) -> list[str]:
    """The text as a model writes it."""
    return [text[:8], text[8:]]


# --- tools ----------------------------------------------------------------------------------------
async def draw(name: str) -> str:
    """Draw a chart."""
    run = current()
    await run.progress(f"Drawing {name}")
    run.write(name, "|||")
    return "drawn"


async def reserve() -> str:
    """Reserve what was ordered."""
    leave("tool.reserve")
    return "reserved"


async def pay(gate: str) -> str:
    """Pay it, with the same key however often this runs."""
    leave(f"tool.pay.{gate} {step_key()}")
    await pass_gate(gate)
    return "paid"


async def wait_at(gate: str) -> str:
    """Wait."""
    try:
        await pass_gate(gate)
    except asyncio.CancelledError:
        leave(f"cancelled.{gate}")
        raise
    return "waited"


async def refuse() -> str:
    """Refuse the order, in words for the user."""
    raise JobFailed("The order book is closed.")


TOOLS = (draw, reserve, pay, wait_at, refuse)
