"""The agent the server under test runs: it echoes, or does what the message's first word says.

Messages: ``job`` starts a job of one step; ``steps N`` a job of N steps whose result is the list
of their timestamps in microseconds; ``wait N`` a job that hangs until a message ``release N``
comes. Everything else is echoed. `benchmarks.floor` understands the same words.
"""

from __future__ import annotations

import asyncio
import json
import time

from agentpost.agents import Job, Turn

_gates: dict[int, asyncio.Event] = {}


def gate(number: int) -> asyncio.Event:
    """The gate job ``number`` waits at; it may be opened before the job gets there."""
    return _gates.setdefault(number, asyncio.Event())


async def agent(turn: Turn) -> None:
    """Answer one message (see the module's docstring for the words)."""
    text = turn.message.text
    match text.split():
        case ["job"]:
            await turn.start(steps, "One step", count=1)
            turn.reply("started")
        case ["steps", count]:
            await turn.start(steps, "Many steps", count=int(count))
            turn.reply("started")
        case ["wait", number]:
            await turn.start(hold, "Wait", number=int(number))
            turn.reply("started")
        case ["release", number]:
            gate(int(number)).set()
            turn.reply("released")
        case _:
            turn.reply(text)


async def steps(job: Job, count: int) -> str:
    """``count`` steps in a row; the result is their timestamps as a JSON list."""
    return json.dumps([await job.step(stamp) for _ in range(count)])


async def hold(job: Job, number: int) -> str:
    """One step that ends when the gate opens."""
    await job.step(opened, number)
    return "released"


async def stamp() -> int:
    """Now on the monotonic clock, in microseconds."""
    return time.monotonic_ns() // 1000


async def opened(number: int) -> bool:
    """Wait at the gate."""
    return await gate(number).wait()
