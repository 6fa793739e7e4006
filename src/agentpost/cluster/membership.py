"""Join and leave the cluster, and recover what a dead node left behind (design: Ownership)."""

from __future__ import annotations

import asyncio
import os
import platform

import structlog

from agentpost.cluster.heartbeat import Heartbeat
from agentpost.runtime.job_runner import JobRunner
from agentpost.services import health_state, node_faults, nodes, turns, upkeep
from agentpost.services.context import AppContext

log = structlog.get_logger(__name__)
WATCH_SECONDS = 1.0


class Nodes:
    """This node among the others.

    Args:
        heart: None when no other node can exist (the data folder is locked): every open row of
        another node was left behind by a process that has ended.
    """

    def __init__(
        self, ctx: AppContext, job_runner: JobRunner | None, heart: Heartbeat | None
    ) -> None:
        self._ctx = ctx
        self._job_runner = job_runner
        self._heart = heart
        self._gone: set[str] = set()
        self._address_is_said = False
        self._left_open = False  # by the last look, for a node that is alone

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

    def _look_at_itself(self) -> None:
        """Say what is wrong with this node among the others, once for as long as it lasts."""
        if self._heart is None:
            return
        ahead = self._heart.clock_ahead()
        problem = node_faults.clock_problem(ahead)
        if problem is not None:
            self._ctx.health.failed(health_state.CLOCK, problem)
        elif ahead is not None:
            self._ctx.health.works(health_state.CLOCK)
        problem = node_faults.address_problem(self._ctx.settings, self._heart.living())
        if problem is not None and not self._address_is_said:
            self._address_is_said = True
            log.warning("settings_warning", warning=problem)

    async def _recover_open(self, dead: set[str]) -> None:
        left = await upkeep.left_behind(self._ctx, dead)
        self._left_open = bool(left.turns or left.jobs)
        if self._ctx.turns is not None:
            for message_id, node in left.turns:
                await self._recover_turn(message_id, node)
        if self._job_runner is not None:
            for job_id, node in left.jobs:
                if node is not None:
                    log.info("job_takeover", job_id=job_id, dead_node=node)
                    self._job_runner.reclaim(job_id, node)
                else:
                    self._job_runner.run(job_id, None)

    async def _recover_turn(self, message_id: str, node: str | None) -> None:
        log.info("turn_takeover", message_id=message_id, dead_node=node)
        try:
            await turns.reclaim(self._ctx, message_id, node)
        except Exception:  # one that cannot be taken up must not keep the others from it
            log.exception("turn_takeover_failed", message_id=message_id)
