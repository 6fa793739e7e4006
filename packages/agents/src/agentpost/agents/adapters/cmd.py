"""A program as the agent: `cmd:<argv>`. It talks in lines of JSON (docs/adapters.md: A program).

What it calls in a run of a turn or job is numbered in the order of its lines and recorded like the
calls of an agent in Python, so it is run again in the same way.
"""

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable
from typing import Final

from agentpost.agents.adapters.bound import bind, bound
from agentpost.agents.adapters.operations import (
    Dialect,
    JobCalls,
    Operation,
    TurnCalls,
    job_line,
    turn_line,
    with_paths,
)
from agentpost.agents.adapters.programs import Program, Programs
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.base import Job, JobFailed, Json, Turn, step_key

KIND: Final = "cmd"


class ProgramFailed(Exception):
    """The program ended too early, or said something that is not of the protocol."""


class NotBegun(Exception):
    """A program that had stayed has ended without a line about the run it was given."""


class Cmd:
    """The agent of the setting `cmd:<argv>`."""

    _programs: Programs

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv

    def attach(self, surroundings: Surroundings) -> None:
        """Give it what the server has for it."""
        self._programs = Programs(self._argv, surroundings)

    async def take_turn(self, turn: Turn) -> None:
        """The agent function."""
        await self.talk(TurnCalls(turn, DIALECT), await turn_line(turn))

    async def talk(self, calls: TurnCalls | JobCalls, first: Operation) -> str:
        """One run, and the text of its end. Raises `JobFailed` when the program said so."""
        while True:
            with contextlib.suppress(NotBegun):
                async with self._programs.process() as program:
                    end = await _Talk(program, calls).all(first)
                break
        text = str(end.get("text") or "")
        if end["op"] == "fail":
            raise JobFailed(text)
        return text


def agent_of(rest: str) -> Cmd:
    """The agent for what stands behind `cmd:`; raises `ValueError` when that is no command."""
    argv = shlex.split(rest)
    if not argv:
        raise ValueError("it names no program")
    return bind(KIND, Cmd(argv))


async def work(job: Job, name: str, args: Json) -> str:
    """The job function of every program's jobs."""
    agent: Cmd = bound(KIND)
    files = await with_paths(job.files())
    return await agent.talk(JobCalls(job, DIALECT), job_line(job, name, args, files))


DIALECT: Final = Dialect(work, ProgramFailed, has_paths=True)


class _Talk:
    """One run: reads the program's lines, makes the calls, and answers those that have an id."""

    def __init__(self, program: Program, calls: TurnCalls | JobCalls) -> None:
        self._program = program
        self._calls = calls
        self._steps: dict[str, asyncio.Queue[Operation]] = {}

    async def all(self, first: Operation) -> Operation:
        """Until the program has said its end, or has ended: its last operation. Raises
        `ProgramFailed`, `NotBegun`, and what the calls raise that have no id."""
        try:
            async with asyncio.TaskGroup() as group:
                await self._program.say(first)
                return await self._read_all(group)
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _read_all(self, group: asyncio.TaskGroup) -> Operation:
        """Make the calls of its lines until its end, which is given back."""
        is_silent = self._program.runs > 1
        while (line := await self._program.line()) is not None:
            is_silent = False
            op = DIALECT.read(line)
            if op["op"] in ("end", "fail"):
                self._program.stays = op.get("stay") is True
                return op
            step = self._steps.get(str(op.get("id")))
            if step is not None:
                step.put_nowait(op)
                continue
            try:
                # Numbered here, in the order of the lines.
                is_step = op["op"] == "step"
                call = self._calls.step(op, self._body(op)) if is_step else self._calls.call(op)
            except Exception as error:
                call = _raising(error)
            if call is not None:
                group.create_task(self._answer(op, call))
        if is_silent:
            raise NotBegun
        code = await self._program.code()
        if code != 0:
            raise ProgramFailed(f"the program ended with code {code}")
        return {"op": "end"}

    async def _answer(self, op: Operation, call: Awaitable[Json]) -> None:
        key = op.get("id")
        try:
            value = await call
        except Exception as error:
            if key is None:
                raise
            reply = {"id": key, "error": {"type": type(error).__name__, "text": str(error)}}
        else:
            reply = {"id": key, "value": value}
        if key is not None and not self._program.stays:  # one that stays takes it for the next run
            await self._program.say(reply)

    def _body(self, op: Operation) -> Callable[..., Awaitable[Json]]:
        """A step's body: the program is told to run it, and says what came of it. What it calls
        meanwhile with the step's id belongs to the step."""

        async def run_step(_name: str, _args: Json) -> Json:
            key = str(op["id"])
            replies = self._steps[key] = asyncio.Queue()
            try:
                await self._program.say({"id": op["id"], "run": True, "key": step_key()})
                while True:
                    inner = await replies.get()
                    if inner["op"] == "done":
                        value: Json = inner.get("value")
                        return value
                    if inner["op"] == "failed":
                        raise ProgramFailed(str(inner.get("text", "the step failed")))
                    if inner["op"] not in self._calls.AT_ONCE:
                        raise ProgramFailed(f"{inner['op']!r} cannot be called inside a step")
                    await self._calls.make(inner)
            finally:
                del self._steps[key]

        return run_step


async def _raising(error: Exception) -> Json:
    raise error
