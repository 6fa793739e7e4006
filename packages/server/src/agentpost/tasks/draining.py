"""Drain a server before it stops: its clients and its work go elsewhere (design: Shutdown)."""

import asyncio
from collections.abc import Awaitable
from typing import Final

import structlog

from agentpost.context import AppContext
from agentpost.nodes import actions as nodes
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.tasks.background import Background
from agentpost.webhooks.dispatcher import Deliveries

log = structlog.get_logger(__name__)
_PART_SECONDS: Final = 3.0
"""For what a database or a dispatcher that hangs would hold up."""


class Drain:
    """The drain of one server: `begin` when it is asked to stop, `finish` when its socket closes.

    Jobs are handed over from the beginning: each at the end of the calls that are under way. Turns
    are seconds, so they run to their end; new ones begin until the socket closes. Webhooks are sent
    until turns and calls have ended; then attempts under way end, or they would be made twice.
    """

    def __init__(
        self,
        ctx: AppContext,
        turn_runner: TurnRunner | None,
        job_runner: JobRunner | None,
        background: Background,
        deliveries: Deliveries,
    ) -> None:
        self._ctx = ctx
        self._turns = turn_runner
        self._jobs = job_runner
        self._background = background
        self._deliveries = deliveries
        self._leaving: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Take no more work and hand over what there is. Does not raise."""
        log.info("drain_began", held_calls=self._ctx.held_calls.count())
        self._ctx.held_calls.answer_waiting()
        await _attempt("tasks", self._background.take_no_work())
        await _attempt("dispatcher", self._ctx.engine.stop())
        if self._jobs is not None:
            self._leaving = asyncio.create_task(self._jobs.leave())
        await _attempt("node", nodes.begin_draining(self._ctx))

    async def finish(self, seconds: float, hurry: asyncio.Event) -> None:
        """Let turns, calls and webhook attempts under way end, at most that long, or until it is
        ``hurried``."""
        self._ctx.turns_closed = True
        if self._turns is not None:
            self._turns.runs.close()
        ending = asyncio.create_task(self._wait_for_runs())
        hurrying = asyncio.create_task(hurry.wait())
        await asyncio.wait({ending, hurrying}, timeout=seconds, return_when="FIRST_COMPLETED")
        left = sum(len(each.runs.open()) for each in (self._turns, self._jobs) if each)
        log.info("drain_ended", unfinished=left, webhooks=self._deliveries.under_way)
        for task in (ending, hurrying, self._leaving):
            if task is not None:
                task.cancel()

    async def _wait_for_runs(self) -> None:
        if self._turns is not None:
            await self._turns.runs.wait_until_ended()
        if self._leaving is not None:
            await asyncio.wait({self._leaving})
        await _attempt("webhooks", self._deliveries.claim_no_more())
        await self._deliveries.attempts_ended()


async def _attempt(part: str, work: Awaitable[object]) -> None:
    """What fails here must not keep the rest from ending in order."""
    try:
        async with asyncio.timeout(_PART_SECONDS):
            await work
    except Exception as error:
        log.warning("drain_incomplete", part=part, error=repr(error))
