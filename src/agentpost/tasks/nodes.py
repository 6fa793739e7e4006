"""Nodes: who is alive, and taking up what a dead node left behind (design: 2, ownership).

Each node beats in the database. A node is judged by what *this* node saw with its own eyes: it is
dead when its beat did not move for `DEAD_SECONDS` of our own watching. A time during which we could
not look ourselves counts as one ordinary look, so a restart of the database, when nobody beats, or
a machine that was asleep makes nobody look dead; and a slow machine still finds the dead, later.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import structlog

from agentpost.services import nodes, turns, upkeep
from agentpost.services.context import House
from agentpost.tasks.worker import JobWorker

log = structlog.get_logger(__name__)
DEAD_SECONDS = 3.0
LOOK_SECONDS_MAX = 1.0
"""What one look can add to a node's silence, however long ago the last one was."""


@dataclass(slots=True)
class _Seen:
    beat: int
    silent: float


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
        self._seen: dict[str, _Seen] = {}
        self._looked = 0.0

    async def enter(self) -> None:
        """Make ourselves known, before we own anything."""
        self._look(await nodes.beat(self._house))

    async def inherit(self) -> None:
        """Alone: take up everything that is open, once the first request may come."""
        if not self._alone:
            return
        gone = set(self._seen)
        for node in gone:
            await nodes.forget(self._house, node)
        await self._take_up(gone)

    async def leave(self) -> None:
        """When nothing runs here any more: others may take up at once what we leave."""
        await nodes.leave(self._house)

    async def watch(self) -> None:
        """One beat and one look around."""
        if self._alone:
            return
        dead = self._look(await nodes.beat(self._house))
        for node in dead:
            log.warning("node_dead", node=node)
            await nodes.forget(self._house, node)
        await self._take_up(dead)

    def _look(self, beats: dict[str, int]) -> set[str]:
        """The nodes that have been silent for too long."""
        now = time.monotonic()
        passed = min(now - self._looked, LOOK_SECONDS_MAX)
        self._looked = now
        before, self._seen = self._seen, {}
        for node, beat in beats.items():
            if node == self._house.node:
                continue
            seen = before.get(node)
            silent = seen.silent + passed if seen is not None and seen.beat == beat else 0.0
            self._seen[node] = _Seen(beat, silent)
        return {node for node, seen in self._seen.items() if seen.silent >= DEAD_SECONDS}

    async def _take_up(self, dead: set[str]) -> None:
        left = await upkeep.left_behind(self._house, dead)
        if self._house.turns is not None:
            for message_id, node in left.turns:
                log.info("turn_taken_up", message_id=message_id, dead_node=node)
                await self._retake(message_id, node)
        if self._worker is not None:
            for job_id, node in left.jobs:
                if node is not None:
                    log.info("job_taken_up", job_id=job_id, dead_node=node)
                    self._worker.retake(job_id, node)
                else:
                    self._worker.run(job_id, None)

    async def _retake(self, message_id: str, node: str | None) -> None:
        """One that cannot be taken up holds up neither the others nor the start; it is tried again
        with each look, and abandoned once it is over its limit."""
        try:
            await turns.retake(self._house, message_id, node)
        except Exception:
            log.exception("turn_not_taken_up", message_id=message_id)
