"""What the tests' agent runs in its steps, and how a test holds it there."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentpost.agents import Job, step_key

LEAKS: dict[str, type[BaseException]] = {
    "cancelled": asyncio.CancelledError,
    "exit": SystemExit,
    "interrupt": KeyboardInterrupt,
    "error": RuntimeError,
    "timeout": TimeoutError,
}


async def pass_gate(name: str) -> None:
    """Say that we are here and wait for the gate to open."""
    gate = Path(os.environ["TEST_GATES"]) / name
    gate.with_name(f"{name}.reached").touch()
    while not gate.exists():  # noqa: ASYNC110 - it is opened from another process
        await asyncio.sleep(0.01)


def mark(name: str) -> str:
    """A step with an effect outside: one line for each time it begins, with the step's key."""
    trace = os.open(os.environ["TEST_TRACE"], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(trace, f"{name} {step_key()}\n".encode())
    finally:
        os.close(trace)
    return name


async def mark_here(name: str) -> str:
    """The same on the agent loop."""
    return mark(name)


async def mark_behind_gate(name: str, gate: str) -> str:
    """The same, then wait: the step has begun and is not recorded."""
    mark(name)
    await pass_gate(gate)
    return name


async def call_back(job: Job, name: str, gate: str) -> str:
    """A step that tells and charges; the test holds it then."""
    mark(name)
    await job.progress(f"{name} tells")
    await job.charge(2, "inside")
    await pass_gate(gate)
    return name


def pid_behind_gate(name: str, gate: str) -> str:
    """A step in a worker process that says which one, and waits."""
    mark(name)
    note = Path(os.environ["TEST_GATES"]) / f"{gate}.pid"
    note.with_suffix(".new").write_text(str(os.getpid()))
    note.with_suffix(".new").rename(note)
    while not (Path(os.environ["TEST_GATES"]) / gate).exists():
        time.sleep(0.01)
    return name


async def sleep_in_thread(name: str, seconds: float) -> None:
    """Hold a thread of the agent loop for that long, whoever is cancelled."""
    mark(name)
    await asyncio.to_thread(time.sleep, seconds)


async def tidied(call: Awaitable[Any], tidy: Callable[[], Awaitable[Any]]) -> None:
    """Make one more call when something goes wrong, as authors do to clean up."""
    try:
        await call
    except BaseException:
        await tidy()
        raise


async def watched(call: Awaitable[Any], name: str) -> None:
    """Leave a trace of what an author's handler gets to see, and say when the call is over."""
    try:
        await call
    except Exception as error:
        mark(f"{name}.{type(error).__name__}")
    finally:
        (Path(os.environ["TEST_GATES"]) / f"{name}.reached").touch()


def open_or_not(gate: str) -> str:
    """What an agent must not ask outside its steps: another answer in another run."""
    return "open" if (Path(os.environ["TEST_GATES"]) / gate).exists() else "not open"


def build(text: str) -> bytes:
    return text.encode()


def build_marked(name: str) -> bytes:
    """The same, with an effect outside."""
    return mark(name).encode()


async def build_marked_here(name: str) -> bytes:
    """The same on the agent loop."""
    return build_marked(name)


tries = 0


async def fail_once(name: str, gate: str) -> str:
    """The first try in each process waits and fails."""
    global tries
    tries += 1
    mark(name)
    if tries == 1:
        await pass_gate(gate)
        raise ConnectionError("not yet")
    return name


def broken() -> None:
    raise ValueError("the step is broken")


def leak(kind: str) -> None:
    """Raise what agents raise by accident."""
    raise LEAKS[kind]("leaked by the agent")
