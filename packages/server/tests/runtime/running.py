"""A house whose turns and jobs really run, on either database, with faults at our word.

The background is the test's: it looks around when it wants to.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from agentpost.accounts import actions as accounts
from agentpost.agents import Job, Turn
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Database, Row, Tx
from agentpost.domain import ids
from agentpost.engine.base import Engine
from agentpost.limits.allowances import rules_of
from agentpost.messages import rows as message_rows, sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.shapes import MessageShape
from agentpost.nodes.quarantine import Quarantine
from agentpost.nodes.reconciler import RunReconciler
from agentpost.processes.pool import WorkerPool
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop
from tests.waiting import eventually_async

T = TypeVar("T")
STOP_SECONDS = 2.0


class Fault(Exception):
    """What the database raises at our word: as little anybody's own as a driver's error."""


class FaultyDatabase:
    """A `Database` that fails when told: before a write, or after it was committed."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.failing = ""  # "before" or "after"
        self.fails = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def write(self, fn: Callable[[Tx], T]) -> T:
        if self.failing == "before":
            self._fail()
        result = await self._real.write(fn)
        if self.failing == "after":
            self._fail()
        return result

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._real.read(fn)

    def _fail(self) -> None:
        self.fails += 1
        raise Fault("the disk is full")


class Script:
    """What the agent below does, and what came of it; new for each test."""

    turn: ClassVar[Callable[[Turn], Awaitable[None]]]
    job: ClassVar[Callable[[Job], Awaitable[str]]]
    seen: ClassVar[list[str]] = []
    gate: ClassVar[threading.Event] = threading.Event()


async def agent(turn: Turn) -> None:
    """The agent of the house."""
    await Script.turn(turn)


async def work(job: Job) -> str:
    """Its only job."""
    return await Script.job(job)


async def start_work(turn: Turn) -> None:
    """The usual turn."""
    await turn.start(work, title="Work")


async def step(name: str) -> str:
    """A step that leaves a trace."""
    Script.seen.append(name)
    return name


@dataclass
class Running:
    """The running house, and hands for the test."""

    ctx: AppContext
    db: FaultyDatabase
    loop: AgentLoop
    job_runner: JobRunner
    reconciler: RunReconciler
    pool: WorkerPool
    caller: Caller
    _sent: int = field(default=0)

    async def send(self) -> str:
        """A message; its id."""
        self._sent += 1
        new = NewMessage("go", f"c{self._sent}")
        message_id = new_id(ids.MESSAGE, self.ctx.clock.now())
        await sending.accept(self.ctx, self.caller, new, message_id)
        return message_id

    def view(self, message_id: str) -> dict[str, Any]:
        """The message as a client sees it."""

        def fn(tx: Tx) -> dict[str, Any]:
            row = message_rows.get(tx, message_id)
            assert row is not None
            shape = MessageShape.of(message_rows.snapshot(tx, row), self.ctx.links)
            return dict(json.loads(shape.json()))

        return self.ctx.db.read_now(fn)

    def row(self, sql: str) -> Row:
        """The one row of a query."""
        (found,) = self.ctx.db.read_now(lambda tx: tx.all(sql))
        return found

    async def idle(self) -> None:
        """Wait until nothing runs."""
        assert isinstance(self.ctx.turns, TurnRunner)
        runs = (self.ctx.turns.runs, self.job_runner.runs)
        await eventually_async(lambda: not any(each.open() for each in runs))

    async def final(self, message_id: str) -> dict[str, Any]:
        """The message once it is final, without anybody looking around."""
        await eventually_async(lambda: self.view(message_id)["final"])
        return self.view(message_id)


@asynccontextmanager
async def running(ctx: AppContext, folder: Path) -> AsyncIterator[Running]:
    """Let turns and jobs of that house run."""
    Script.turn, Script.seen, Script.gate = start_work, [], threading.Event()
    db = FaultyDatabase(ctx.db)
    ctx.db = cast("Database", db)
    account = await accounts.create(ctx, "owner@example.com", "Owner", 100)
    key = (await accounts.create_key(ctx, account.id, "first")).record
    loop = AgentLoop()
    loop.start()
    pool = WorkerPool(1, scratch=folder / "scratch", seconds=60, cpu_seconds=60)
    steps = Steps(pool, ctx.storage)
    job_runner = JobRunner(ctx, loop, steps)
    ctx.turns = turns = TurnRunner(loop, agent, steps)
    ctx.engine = Engine(ctx.node)
    await ctx.engine.start(job_runner)
    caller = Caller(key.id, key.name, account.id, rules_of(ctx.settings))
    reconciler = RunReconciler(ctx, turns, job_runner, Quarantine(turns.runs, job_runner.runs))
    yield Running(ctx, db, loop, job_runner, reconciler, pool, caller)
    Script.gate.set()
    db.failing = ""
    await turns.stop(STOP_SECONDS)
    await job_runner.stop(STOP_SECONDS)
    await loop.run(pool.aclose())
    await asyncio.to_thread(loop.stop, STOP_SECONDS)
