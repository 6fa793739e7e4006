"""An agent whose code ends, fills or holds its own process; "job …" and "turn …" say how.

All else is answered by the scripted agent. A trace is left each time something misbehaves: what is
named "… once" does so the first time only.
"""

import asyncio
import ctypes
import gc
import json
import logging
import os
import signal
import sys
import time
from pathlib import Path

from agentpost.agents import Backoff, Job, JobFailed, Turn
from tests.e2e import agents
from tests.e2e.agent_steps import mark_here, pass_gate

KEPT: list[bytes] = []
FILL_BYTES = 200 << 20


def trace(name: str) -> int:
    """Leave a trace with the number of this process; how many of that name there were before."""
    file = Path(os.environ["TEST_TRACE"])
    before = sum(line.split()[0] == name for line in file.read_text().splitlines())
    with file.open("a") as traces:
        traces.write(f"{name} {os.getpid()}\n")
    return before


trace("imported")
logging.getLogger("a.library").info("quiet outside runs")
logging.getLogger("a.library").warning("loud outside runs")


def misbehave(how: str) -> None:
    match how:
        case "exit":
            os._exit(3)
        case "leak":
            kept = []
            while True:
                kept.append(bytearray(1 << 20))
        case "hang":
            while True:
                time.sleep(0.01)
        case "garble":
            (channel,) = (each for each in gc.get_objects() if type(each).__name__ == "Channel")
            channel._socket.sendall(b"\x00\x00\x00\x04none")
            misbehave("hang")
        case "freeze":
            ctypes.PyDLL(None).sleep(600)  # C code that keeps the interpreter
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)


async def agent(turn: Turn) -> None:
    word, _, rest = turn.message.text.partition(" ")
    if word == "job":
        await turn.start(work, title=rest, how=rest)
    elif word == "turn":
        trace(f"turn.{rest}")
        misbehave(rest)
    elif word == "where":
        turn.reply(str(os.getpid()))
    elif word == "loaded":
        turn.reply(str(rest in sys.modules))
    elif word == "environment":
        turn.reply(json.dumps(sorted(os.environ)))
    else:
        await agents.agent(turn)


async def hold_once() -> str:
    """Its first try is over while it holds the loop."""
    before = trace("late")
    if not before:
        time.sleep(2.5)  # noqa: ASYNC251 - it is what misbehaves
    return f"try {before + 1}"


class ShopClosed(JobFailed):
    """The author's own class."""


async def rest() -> str:
    trace("rest")
    await pass_gate("rest")
    return "rest is done"


async def work(job: Job, how: str) -> str:
    how, _, once = how.partition(" ")
    await job.step(mark_here, f"{how}.step")
    await job.progress("before")
    if how == "steady":
        await pass_gate("steady")
    elif how == "fill":
        KEPT.append(bytes(FILL_BYTES))
        trace("fill")
        await pass_gate("fill")
    elif how == "burn":
        is_first = not trace("burn")
        while is_first:  # noqa: ASYNC110 - it is what misbehaves
            await asyncio.sleep(0)
    elif how == "closes":
        raise ShopClosed("The shop is closed on Sundays.")
    elif how == "late":
        late: str = await job.step(hold_once, timeout=2, retries=1, backoff=Backoff(0.05))
        return late
    elif how == "rest":
        rested: str = await job.step(rest)
        return rested
    elif how == "says":
        print("printed")
        logging.getLogger("shop").warning("logged")
        await asyncio.sleep(0)
        raise LookupError("the shop is closed")
    elif not trace(how) or not once:
        misbehave(how)
    return f"{how} is done"
