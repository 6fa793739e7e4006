"""The agent under test for fairness: the offline agent, with an echo, and with one job more that
an author could write: a plain step that never ends."""

from __future__ import annotations

import time

from agentpost.agents import Job, Turn
from agentpost_offline import WORKER_IMPORTS, agent as offline
from benchmarks.load import ECHO

__all__ = ["WORKER_IMPORTS", "agent"]

BLOCK = "block a worker"
BLOCK_SECONDS = 600


async def agent(turn: Turn) -> None:
    """Answer as the offline agent does, repeat the text, or start the job."""
    if turn.message.text == ECHO:
        turn.reply(ECHO)
    elif turn.message.text == BLOCK:
        await turn.start(blocking, title="Block")
    else:
        await offline(turn)


async def blocking(job: Job) -> str:
    """Hold a worker process for as long as it is allowed."""
    await job.step(hold, BLOCK_SECONDS)
    return "done"


def hold(seconds: float) -> None:
    """Use a core."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(10_000))
