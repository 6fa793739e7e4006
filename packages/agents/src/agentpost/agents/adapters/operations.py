"""The operations of an agent elsewhere: one for each line of JSON, made on its turn or job."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from agentpost.agents.base import File, Job, JobFn, Json, Started, Turn

Operation: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The difference between the operations of a program and those of a service.

    ``work`` is the function of their jobs, ``failed`` what a wrong operation raises, ``describe``
    tells of a file that was written, ``has_paths``: contents may be a file of this machine.
    """

    work: JobFn
    failed: type[Exception]
    describe: Callable[[File], Awaitable[Json]]
    has_paths: bool

    def read(self, line: bytes) -> Operation:
        """The operation that a line has; raises ``failed`` for anything else."""
        try:
            op = json.loads(line)
        except ValueError:
            raise self.failed(f"a line is no JSON: {line[:100]!r}") from None
        if not isinstance(op, dict) or not isinstance(op.get("op"), str):
            raise self.failed(f"a line is no operation: {line[:100]!r}")
        return op

    def contents(self, op: Operation) -> bytes | str | Path:
        """The contents of a file that is written, given as ``text``, ``base64`` or ``file``."""
        if "text" in op:
            return str(op["text"])
        if self.has_paths and "base64" not in op:
            return Path(op["file"])
        return base64.b64decode(op["base64"])


class TurnCalls:
    """Makes operations on a turn."""

    AT_ONCE: ClassVar[frozenset[str]] = frozenset({"delta"})
    """The operations that the body of a step may call."""

    def __init__(self, turn: Turn, dialect: Dialect) -> None:
        self._turn = turn
        self._dialect = dialect

    def call(self, op: Operation) -> Awaitable[Json] | None:
        """Make the call of an operation now, which numbers it; None when there is nothing to wait
        for."""
        turn = self._turn
        match op["op"]:
            case "reply":
                turn.reply(op["text"])
            case "output":
                turn.output(op["value"])
                return asyncio.sleep(0)
            case "start":
                fn, args = self._dialect.work, {"name": op["job"], "args": op.get("args", {})}
                return _started(turn.start(fn, op["title"], work=op.get("work"), **args))
            case "join":
                return turn.join(op["job_id"], op.get("text"))
            case "stop":
                return turn.stop(op["job_id"])
            case "write":
                file = turn.write(op["path"], self._dialect.contents(op))
                return _written(file, self._dialect)
            case _:
                if not _has_called(turn, op):
                    raise self._dialect.failed(f"a turn has no operation {op['op']!r}")
        return None

    def step(self, op: Operation, body: Callable[..., Awaitable[Json]]) -> Awaitable[Json]:
        """Run a step of that body."""
        return self._turn.step(body, op["name"], op.get("args"))


class JobCalls:
    """Makes operations on a job."""

    AT_ONCE: ClassVar[frozenset[str]] = frozenset({"delta", "progress", "charge"})
    """The operations that the body of a step may call."""

    def __init__(self, job: Job, dialect: Dialect) -> None:
        self._job = job
        self._dialect = dialect

    def call(self, op: Operation) -> Awaitable[Json] | None:
        job = self._job
        match op["op"]:
            case "output":
                return job.output(op["value"])
            case "progress":
                return job.progress(op["text"])
            case "charge":
                return job.charge(op["amount"], op.get("note", ""))
            case "write":
                cost, label = op.get("cost", 0), op.get("label")
                file = job.write(op["path"], self._dialect.contents(op), cost=cost, label=label)
                return _written(file, self._dialect)
            case _:
                if not _has_called(job, op):
                    raise self._dialect.failed(f"a job has no operation {op['op']!r}")
        return None

    def step(self, op: Operation, body: Callable[..., Awaitable[Json]]) -> Awaitable[Json]:
        """Run a step of that body."""
        return self._job.step(body, op["name"], op.get("args"), cost=op.get("cost", 0))


Calls: TypeAlias = TurnCalls | JobCalls


async def make(calls: Calls, op: Operation) -> Json:
    """Make an operation and wait for what it gives; None when that is nothing."""
    call = calls.call(op)
    return None if call is None else await call


def _has_called(run: Turn | Job, op: Operation) -> bool:
    """Make what turns and jobs have in common; False when it is none of that."""
    match op["op"]:
        case "ask":
            run.ask(op["question"], choices=op.get("choices"), schema=op.get("schema"))
        case "delta":
            run.delta(op.get("text", ""), reset=bool(op.get("reset")))
        case "state":
            run.state.clear()
            run.state.update(op["value"])
        case _:
            return False
    return True


async def _started(call: Awaitable[Started]) -> Json:
    return asdict(await call)


async def _written(call: Awaitable[File], dialect: Dialect) -> Json:
    return await dialect.describe(await call)
