"""Nodes: who is alive, and taking up what a dead node left behind (design: 2, ownership).

Each node beats in the database. A node is judged by what *this* node saw with its own eyes: it is
dead when its beat did not move for `DEAD_SECONDS` of our own uninterrupted watching, so a restart
of the database, during which nobody beats, makes nobody look dead.
"""

from __future__ import annotations

import time

import structlog

from agentpost.services import nodes, turns, upkeep
from agentpost.services.context import House
from agentpost.tasks.worker import JobWorker

log = structlog.get_logger(__name__)
DEAD_SECONDS = 3.0
BEAT_SECONDS_MAX = 1.5


class Nodes:
    """This node's beat, and its view of the others.

    Args:
        alone: no other node can exist (the data folder is locked): whatever is open and not ours
            was left behind by a process that is gone.
    """

    def __init__(self, house: House, worker: JobWorker | None, *, alone: bool) -> None:
        self._house = house
        self._worker = worker
        self._alone = alone
        self._seen: dict[str, tuple[int, float]] = {}
        self._last_look: float | None = None

    async def enter(self) -> None:
        """Before the first request: make ourselves known; alone, take up everything open."""
        await nodes.beat(self._house)
        if self._alone:
            await self._take_up({self._house.node})

    async def leave(self) -> None:
        """After the last: others may take up at once what we leave."""
        await nodes.leave(self._house)

    async def watch(self) -> None:
        """One beat and one look around."""
        if self._alone:
            return
        beats = await nodes.beat(self._house)
        now = time.monotonic()
        if self._last_look is None or now - self._last_look > BEAT_SECONDS_MAX:
            self._seen = {}  # we were away ourselves: begin to watch anew
        self._last_look = now
        alive = {self._house.node}
        for node, beat in beats.items():
            before = self._seen.get(node)
            if before is None or before[0] != beat:
                self._seen[node] = (beat, now)
            if now - self._seen[node][1] < DEAD_SECONDS:
                alive.add(node)
        for node in set(beats) - alive:
            log.warning("node_dead", node=node)
            await nodes.forget(self._house, node)
        await self._take_up(alive)

    async def _take_up(self, alive: set[str]) -> None:
        left = await upkeep.left_behind(self._house, alive)
        if self._house.turns is not None:
            for message_id in left.turns:
                log.info("turn_taken_up", message_id=message_id)
                await turns.retake(self._house, message_id)
        if self._worker is not None:
            for job_id, node in left.jobs:
                if node is not None:
                    log.info("job_taken_up", job_id=job_id, dead_node=node)
                    self._worker.retake(job_id, node)
                else:
                    self._worker.run(job_id, None)
