"""An agent that prints and logs wherever its code runs; the message says where."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable

from agentpost.agents import Job, Turn

log = logging.getLogger("the.author")


async def agent(turn: Turn) -> None:
    """Run what the message names: in the turn, or in a job that it starts."""
    name = turn.message.text
    if name in IN_TURN:
        await IN_TURN[name](turn)
        turn.reply("done")
    elif name.startswith("job "):
        await turn.start(work, title="Work", name=name.removeprefix("job "))
    else:
        turn.reply(name)


async def work(job: Job, name: str) -> str:
    """The job: a first call, so that numbers are not all 1, then the one that is asked for."""
    await job.progress("begun")
    await IN_JOB[name](job)
    return "done"


def speak(where: str) -> None:
    """Print and log in every way of Python's."""
    print(f"{where} printed")
    print(f"{where} to stderr", file=sys.stderr)
    log.info("%s logged", where)
    log.debug("%s whispered", where)
    print(f"{where} without an end", end="")


async def speak_here(where: str) -> None:
    """The same in an async step, beside another thread."""
    speak(where)
    print()
    await asyncio.to_thread(print, f"{where} in a thread")


def speak_below(where: str) -> None:
    """The same in a worker process, and by other ways than Python's streams."""
    speak(where)
    sys.stdout.flush()
    os.write(1, f"\n{where} by descriptor\n".encode())
    subprocess.run([sys.executable, "-c", f"print('{where} by a child')"], check=True)


def fail_below() -> None:
    """Log an exception, then raise one."""
    try:
        raise LookupError("the first")
    except LookupError:
        log.exception("tried")
    raise ValueError("the second")


def flood(megabytes: int) -> str:
    """Print far too much, by both ways."""
    for _ in range(megabytes):
        os.write(1, (b"x" * 99 + b"\n") * 10_000)
        print("y" * 1_000, file=sys.stderr)
    return "done"


async def flood_here(lines: int) -> str:
    """The same on the agent loop."""
    for _ in range(lines):
        print("z" * 99)
    return "done"


def long_line() -> None:
    """Print a line of 100,000 characters."""
    print("w" * 100_000)


def steer_the_terminal() -> None:
    """Print what would move a cursor."""
    print("\x1b[2J\x1b[31mred")


TRIED: list[int] = []


async def fail_twice() -> str:
    """A step that works the third time."""
    TRIED.append(1)
    if len(TRIED) < 3:
        raise ConnectionError("the service is away")
    return "done"


def keep_printing() -> None:
    """A program that goes on printing after its step; it ends with the worker."""
    script = "import time\nwhile True: print('still here', flush=True); time.sleep(0.2)"
    subprocess.Popen([sys.executable, "-c", script])


async def _speak_in_turn(turn: Turn) -> None:
    speak("turn")


async def _step_of_turn(turn: Turn) -> None:
    await turn.step(speak_below, "turn step")


async def _fail_in_turn(turn: Turn) -> None:
    raise RuntimeError("the turn is broken")


IN_TURN: dict[str, Callable[[Turn], Awaitable[None]]] = {
    "turn": _speak_in_turn,
    "turn step": _step_of_turn,
    "turn fails": _fail_in_turn,
}


async def _speak_in_job(job: Job) -> None:
    speak("job")


async def _write(job: Job) -> None:
    await job.write("note.txt", "a note")


async def _fail(job: Job) -> None:
    await job.step(fail_below)


async def _between(job: Job) -> None:
    """Calls beside each other, then a line of no call."""
    await asyncio.gather(job.step(speak_here, "first"), job.step(speak_here, "second"))
    thread = threading.Thread(target=print, args=("from a thread of its own",))
    thread.start()
    await asyncio.to_thread(thread.join)


IN_JOB: dict[str, Callable[[Job], Awaitable[object]]] = {
    "body": _speak_in_job,
    "async step": lambda job: job.step(speak_here, "async step"),
    "plain step": lambda job: job.step(speak_below, "plain step"),
    "beside": _between,
    "fails": _fail,
    "flood": lambda job: job.step(flood, 100),
    "flood here": lambda job: job.step(flood_here, 20_000),
    "long line": lambda job: job.step(long_line),
    "terminal": lambda job: job.step(steer_the_terminal),
    "retried": lambda job: job.step(fail_twice, retries=3),
    "child": lambda job: job.step(keep_printing),
    "write": _write,
    "sleep": lambda job: asyncio.sleep(60),
}
