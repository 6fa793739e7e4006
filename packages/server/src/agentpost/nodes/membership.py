"""Join and leave the cluster, and recover what a dead node left behind (design: Ownership)."""

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from agentpost.context import AppContext
from agentpost.nodes import actions as nodes, faults, upkeep
from agentpost.nodes.heartbeat import Heartbeat
from agentpost.nodes.quarantine import Quarantine
from agentpost.nodes.upkeep import Left
from agentpost.operations import health_state
from agentpost.runtime.run_job import JobRunner
from agentpost.turns import actions as turns

log = structlog.get_logger(__name__)
WATCH_SECONDS = 1.0


class Nodes:
    """This node among the others.

    Args:
        heart: None when no other node can exist (the data folder is locked): every open row of
        another node was left behind by a process that has ended.
        quarantine: which suspected work may begin here.
    """

    def __init__(
        self,
        ctx: AppContext,
        job_runner: JobRunner | None,
        heart: Heartbeat | None,
        quarantine: Quarantine,
    ) -> None:
        self._ctx = ctx
        self._job_runner = job_runner
        self._heart = heart
        self._quarantine = quarantine
        self._gone: set[str] = set()
        self._address_is_said = False
        self._left_open = False  # by the last look, for a node that is alone
        self._has_taken_waiting = False

    async def enter(self) -> None:
        """Make ourselves known, before we own anything."""
        if self._heart is not None:
            await asyncio.to_thread(self._heart.start)
        else:
            self._gone = set(await nodes.beat(self._ctx)) - {self._ctx.node}
        await nodes.describe(self._ctx, platform.node(), os.getpid())
        self._look_at_itself()
        log.info("node_joined", node=self._ctx.node, role=self._ctx.settings.role)

    async def recover_open(self) -> None:
        """Alone: recover everything that is open, before the first request may come."""
        if self._heart is not None:
            return
        for node in self._gone:
            await nodes.forget(self._ctx, node)
        await self._recover_open(self._gone)

    async def leave(self) -> None:
        """Leave once nothing runs here: other nodes may recover the rest at once."""
        if self._heart is not None:
            await asyncio.to_thread(self._heart.stop)
        await nodes.leave(self._ctx)
        log.info("node_left", node=self._ctx.node)

    async def watch(self) -> None:
        """Recover the rows of dead nodes. Alone: what the start found, until all of it is claimed;
        a claim fails when the disk does."""
        if self._heart is None:
            if self._left_open:
                await self._recover_open(set())
            return
        self._look_at_itself()
        dead: set[str] = set()
        for node, beat in self._heart.dead().items():
            if await nodes.forget(self._ctx, node, beat):
                log.warning("node_dead", node=node)
                dead.add(node)
        await self._recover_open(dead)
        if self._job_runner is not None and not self._has_taken_waiting:
            for job_id, node in await upkeep.waiting_for_code(self._ctx):
                self._job_runner.reclaim(job_id, node)
            self._has_taken_waiting = True

    def _look_at_itself(self) -> None:
        """Say what is wrong with this node among the others, once for as long as it lasts."""
        if self._heart is None:
            return
        ahead = self._heart.clock_ahead
        problem = faults.clock_problem(ahead)
        if problem is not None:
            self._ctx.health.note_failure(health_state.CLOCK, problem)
        elif ahead is not None:
            self._ctx.health.works(health_state.CLOCK)
        problem = faults.address_problem(self._ctx.settings, self._heart.living())
        if problem is not None and not self._address_is_said:
            self._address_is_said = True
            log.warning("settings_warning", warning=problem)

    async def _recover_open(self, dead: set[str]) -> None:
        left_turns, left_jobs = await upkeep.left_behind(self._ctx, dead)
        self._left_open = bool(left_turns or left_jobs)
        rows: list[tuple[Left, Callable[[Left], Awaitable[None]]]] = []
        if self._ctx.turns is not None:
            rows += [(left, self._recover_turn) for left in left_turns]
        if self._job_runner is not None:
            recover_job = partial(self._recover_job, self._job_runner)
            rows += [(left, recover_job) for left in left_jobs]
        # Fewest deaths first: innocent work is done before their cause has its next try.
        for left, recover in sorted(rows, key=lambda each: (each[0].deaths, each[0].id)):
            if self._quarantine.admit(left.id, left.deaths):
                await recover(left)

    async def _recover_turn(self, left: Left) -> None:
        log.info("turn_takeover", message_id=left.id, dead_node=left.node, deaths=left.deaths)
        try:
            await turns.reclaim(self._ctx, left.id, left.node)
        except Exception:  # one that cannot be taken up must not keep the others from it
            log.exception("turn_takeover_failed", message_id=left.id)

    async def _recover_job(self, runner: JobRunner, left: Left) -> None:
        if left.node is not None:
            log.info("job_takeover", job_id=left.id, dead_node=left.node, deaths=left.deaths)
        runner.reclaim(left.id, left.node)
