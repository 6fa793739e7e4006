"""The worker: the jobs that run in this process (see `engine.base.Worker`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import structlog

from agentpost.agents.loop import AgentLoop
from agentpost.services import jobs
from agentpost.services.context import House
from agentpost.services.tickets import JobTicket
from agentpost.tasks.run_job import run_job
from agentpost.tasks.runs import Runs
from agentpost.tasks.steps import Steps

log = structlog.get_logger(__name__)


class JobWorker:
    """Runs jobs on the agent loop, one task each; all its state belongs to that loop."""

    def __init__(self, house: House, loop: AgentLoop, steps: Steps) -> None:
        self._house = house
        self._loop = loop
        self._runs = Runs(loop)
        self._steps = steps
        self._running: dict[str, asyncio.Task[None]] = {}

    def run(self, job_id: str, epoch: int | None) -> None:
        """See `Worker.run`."""
        if epoch is None:
            self._runs.submit(lambda: self._run(job_id, jobs.take(self._house, job_id)))
        else:
            self._runs.submit(lambda: self._run(job_id, jobs.open_(self._house, job_id, epoch)))

    def retake(self, job_id: str, dead_node: str) -> None:
        """Go on with a job whose node is gone; safe on any thread."""
        self._runs.submit(lambda: self._run(job_id, jobs.take(self._house, job_id, dead_node)))

    async def stop(self, seconds: float) -> None:
        """End what runs; it goes on from its recorded calls when somebody takes it up."""
        await self._runs.stop(seconds)

    def abort(self, job_id: str) -> None:
        """See `Worker.abort`."""
        self._loop.call_soon(self._abort, job_id)

    def _abort(self, job_id: str) -> None:
        task = self._running.get(job_id)
        if task is not None:
            task.cancel()

    async def _run(self, job_id: str, claiming: Awaitable[JobTicket | None]) -> None:
        ticket = await claiming
        if ticket is None:
            return
        older = self._running.get(job_id)
        if older is not None:  # fenced by our claim; it has nothing left to do
            older.cancel()
        task = asyncio.current_task()
        assert task is not None
        self._running[job_id] = task
        try:
            await run_job(self._house, self._steps, ticket)
        except asyncio.CancelledError:
            log.info("job_aborted", job_id=job_id)
            raise
        finally:
            if self._running.get(job_id) is task:
                del self._running[job_id]
