"""An agent whose turn or job lives for a while; one that is called culprit ends the whole process.

A message is ``turn NAME`` or ``job NAME``; any other text is answered with itself.
"""

import asyncio
import os

from agentpost.agents import Job, Turn
from tests.e2e.agent_steps import mark

FUSE_SECONDS = 0.3
LIFE_SECONDS = 0.8
"""Longer than the fuse: in a process that the culprit runs in, nobody gets to the end."""


async def agent(turn: Turn) -> None:
    kind, _, name = turn.message.text.partition(" ")
    if kind == "job":
        await turn.start(work, title=name, name=name)
    elif kind == "turn":
        await turn.step(live, name)
    turn.reply(turn.message.text)


async def work(job: Job, name: str) -> str:
    await job.step(live, name)
    return name


async def live(name: str) -> None:
    mark(name)
    await asyncio.sleep(FUSE_SECONDS if name == "culprit" else LIFE_SECONDS)
    if name == "culprit":
        os._exit(1)
