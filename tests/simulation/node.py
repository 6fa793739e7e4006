"""A node of a simulation: the parts of a server as `agentpost.wiring` makes them, without HTTP.

Its loop, database and network are simulated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import SECOND
from agentpost.egress.client import Egress, PostResult
from agentpost.engine.base import Engine
from agentpost.nodes import upkeep
from agentpost.nodes.heartbeat import BEAT_SECONDS, Heartbeat
from agentpost.nodes.lease import LEASE_SECONDS, Lease
from agentpost.nodes.membership import Nodes
from agentpost.nodes.quarantine import Quarantine
from agentpost.nodes.reconciler import RunReconciler
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.requests.actions import RequestLog
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.steps import Steps
from agentpost.secrets.encryption import SecretCipher
from agentpost.settings import Settings
from agentpost.storage.signing import CursorSigner
from agentpost.tasks.background import Background
from agentpost.wakeups.base import Transaction, Wakeups
from agentpost.webhooks.dispatcher import Deliveries
from tests.harness.context import PlainLinks
from tests.simulation.agent import agent_of, job_of
from tests.simulation.loop import SimulatedAgentLoop
from tests.simulation.world import World

T = TypeVar("T")
UNPLAYED = ("purge", "tidy_storage", "sweep_uploads", "write_request_log", "look_at_maintenance")
"""Periodic tasks that have nothing to do here: letting go has its own tests, as have uploads."""


class SimulatedDatabase:
    """See `Database`: a node's way to the one database."""

    external_commits: int | None = None
    changes: int | None = None

    def __init__(self, world: World, node: Node) -> None:
        self._world = world
        self._node = node

    def open(self) -> None:
        """See `Database.open`."""

    def close(self) -> None:
        """See `Database.close`."""

    async def write(self, fn: Callable[[Tx], T]) -> T:
        return await self._world.write(self._node, fn)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._world.read(self._node, fn)

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        return self._world.read_now(fn)


class SimulatedWakeups(Wakeups):
    """Hints that reach the other nodes late, in another order, or never."""

    def __init__(self, world: World, node: Node) -> None:
        super().__init__()
        self._world = world
        self._node = node

    def publish(self, tx: Transaction, *subjects: str) -> None:
        tx.after(partial(self._world.hint, self._node, subjects))


class SimulatedEngine(Engine):
    """See `Engine`: whoever takes a job claims it."""

    def __init__(self, world: World, node: str) -> None:
        super().__init__(node)
        self._world = world

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        tx.after(partial(self._world.dispatch, job_id))
        return None

    def abort(self, tx: Transaction, job_id: str) -> None:
        tx.after(partial(self._world.abort, job_id))


class SimulatedEgress(Egress):
    """Every address leads to the world's receiver."""

    def __init__(self, world: World, node: Node) -> None:
        self._world = world
        self._node = node

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float
    ) -> PostResult:
        return await self._world.post(self._node, body, dict(headers))


class _BeatLine:
    """See `DedicatedConnection`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self, fn: Callable[[Tx], T]) -> T:
        return self._world.write_now(fn)

    def time(self) -> int | None:
        """See `DedicatedConnection.time`: the nodes and the database have one clock."""
        return None

    def close(self) -> None:
        """See `DedicatedConnection.close`."""


class SimulatedHeartbeat(Heartbeat):
    """Beats by timers of the loop instead of a thread."""

    def __init__(self, world: World, node: Node, lease: Lease, clock: ManualClock) -> None:
        super().__init__(_BeatLine(world), node.id, clock, lease)
        self._world = world
        self._owner = node

    def start(self) -> None:
        self._beat()
        self._world.soon(self._owner, self._next, BEAT_SECONDS)

    def _next(self) -> None:
        self._beat()
        self._world.soon(self._owner, self._next, BEAT_SECONDS)


class Node:
    """One process. ``alone``: it is the only one there can be, as with SQLite."""

    def __init__(self, world: World, settings: Settings, *, alone: bool) -> None:
        self.id = f"node_{len(world.nodes) + 1}"
        self.dead = False
        self.ready = False
        self.replaced = False
        self.frozen_until = 0.0
        self.fail_in = 0
        self._crash_in = 0
        self._crash_when = ""
        self._world = world
        world.nodes.append(self)
        self.hub = SimulatedWakeups(world, self)
        database = SimulatedDatabase(world, self)
        loop = SimulatedAgentLoop()
        pool = cast("Any", None)  # every step of the agent is a coroutine
        steps = Steps(pool, world.storage)
        effect, sleep = partial(world.effect, self), partial(world.io, self)
        self.turns = TurnRunner(loop, agent_of(effect), steps)
        lease = (
            Lease() if alone else Lease(LEASE_SECONDS, now=lambda: world.clock.passed() / SECOND)
        )
        self.ctx = AppContext(
            settings=settings,
            clock=world.clock,
            db=database,
            storage=world.storage,
            incoming=cast("Any", SimpleNamespace(tidy=None)),  # no uploads are played
            wakeups=self.hub,
            engine=Engine(self.id) if alone else SimulatedEngine(world, self.id),
            egress=SimulatedEgress(world, self),
            links=PlainLinks(),
            cursors=CursorSigner(b"secret"),
            cipher=SecretCipher([b"secret"]),
            limiter=MemoryLimiter(),
            requests=RequestLog(database, world.clock, "svc_key_"),
            node=self.id,
            lease=lease,
            turns=self.turns,
        )
        self.jobs = JobRunner(self.ctx, loop, steps, lambda _: job_of(effect, sleep))
        heart = None if alone else SimulatedHeartbeat(world, self, lease, world.clock)
        quarantine = Quarantine(self.turns.runs, self.jobs.runs, world.loop.time)
        self.members = Nodes(self.ctx, self.jobs, heart, quarantine)
        reconciler = RunReconciler(self.ctx, self.turns, self.jobs, quarantine)
        self._deliveries = Deliveries(self.ctx, self.ctx.egress, alone=alone)
        self._deliveries._loop = SimulatedAgentLoop()
        self._loop = loop
        self._background = Background(self.ctx, self.jobs, self.members, reconciler, None, {})

    async def start(self) -> None:
        """As `agentpost.server` starts the parts."""
        self._world.tell(self.id, "starts")
        self._loop.start()
        await self._deliveries.start()
        await self.members.enter()
        await self.ctx.engine.start(self.jobs)
        await self.members.recover_open()
        self.ready = True

    def die(self) -> None:
        """kill -9: nothing of it is heard of again."""
        self.dead = True
        self._world.tell(self.id, "is dead")

    def freeze(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after that time."""
        self._world.tell(self.id, f"stands still for {seconds:g} s")
        self.frozen_until = self._world.loop.time() + seconds

    def crash_at(self, commits: int, when: str) -> None:
        """Die at the commit that comes so many commits from now, ``before`` or ``after`` it."""
        self._crash_in, self._crash_when = commits, when

    def crash_due(self) -> str:
        """Called for each commit: whether it is the one to die at, and when."""
        if self._crash_in:
            self._crash_in -= 1
            if not self._crash_in:
                return self._crash_when
        return ""

    def failure_due(self) -> bool:
        """Called for each commit: whether it is the one to fail."""
        self.fail_in -= 1
        return self.fail_in == 0

    @cached_property
    def sweeps(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        """The periodic tasks of a server, by name."""
        found = [
            (task.name, partial(self._background._once, task.name, task.run))
            for task in self._background._tasks
            if task.name not in UNPLAYED and not task.name.startswith("check_")
        ]
        # The one that was added last comes last: the histories stay those that are known.
        found.sort(key=lambda each: each[0] == "wake_deliveries")
        return [*found[:-1], ("pick_up_jobs", self._pick_up), found[-1]]

    async def sweep(self, names: Sequence[str] = ()) -> None:
        """Run these once, or all of them."""
        for name, run in self.sweeps:
            if not names or name in names:
                try:
                    await run()
                except asyncio.CancelledError:
                    raise
                except Exception as error:  # a fault: the next run tries again
                    self._world.tell(self.id, f"{name}: {error!r}")

    async def _pick_up(self) -> None:
        for job_id in await upkeep.unowned_jobs(self.ctx):
            self.jobs.run(job_id, None)
