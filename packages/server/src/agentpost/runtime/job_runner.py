"""The job runner: the jobs that run in this process (see `engine.base.JobExecutor`)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog

from agentpost.agents import values
from agentpost.context import AppContext
from agentpost.jobs import actions as jobs
from agentpost.nodes import actions as nodes
from agentpost.record.tickets import JobTicket
from agentpost.runtime.run_job import FindJob, run_job
from agentpost.runtime.runs import Run, Runs
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop

log = structlog.get_logger(__name__)
_TURN_FIRST_SECONDS = 0.02
"""How long a job lets the turn that starts it return first. Then the reply, which most turns give
right after, stands in the log before what the job writes."""


class JobRunner:
    """Runs jobs on the agent loop, one task each. Safe on any thread."""

    def __init__(
        self, ctx: AppContext, loop: AgentLoop, steps: Steps, find: FindJob = values.resolve
    ) -> None:
        self._ctx = ctx
        self._loop = loop
        self._find = find
        self.runs = Runs(loop)
        self._steps = steps

    def run(self, job_id: str, epoch: int | None) -> None:
        """See `JobExecutor.run`."""
        if epoch is None:
            self._claim(job_id, None, may_be_suspect=False)
        else:
            claim = partial(jobs.open_, self._ctx, job_id, epoch)
            self.runs.submit(job_id, epoch, partial(self._run, claim))

    def reclaim(self, job_id: str, node: str | None) -> None:
        """Go on with a job that this node owned when it went away, or lost it; or with one that
        nobody owns, even when it is suspected of ending its process."""
        self._claim(job_id, node)

    def abort(self, job_id: str) -> None:
        """See `JobExecutor.abort`. A job that is only being claimed is known here already: its
        claim either comes too late, or is cancelled with the rest."""
        self.runs.cancel(job_id)

    async def leave(self) -> None:
        """Begin no more jobs; each that runs records the calls that are under way and is handed
        over. Returns when none is left; on any loop but the agent loop."""
        self.runs.close()
        await self._loop.run(self.runs.leave())

    async def stop(self, seconds: float) -> None:
        """End what runs; the next owner continues it from its recorded calls."""
        await self.runs.stop(seconds)

    def _claim(self, job_id: str, node: str | None, *, may_be_suspect: bool = True) -> None:
        if not self.runs.claiming(job_id):  # while the loop is blocked, each sweep asks again
            claim = partial(jobs.claim, self._ctx, job_id, node, may_be_suspect=may_be_suspect)
            self.runs.submit(job_id, None, partial(self._run, claim))

    async def _run(self, claim: Callable[[], Awaitable[JobTicket | None]], run: Run) -> None:
        try:
            ticket = await claim()
        except Exception as error:  # still nobody's, or ours and missing: found by a sweep
            log.warning("job_not_claimed", job_id=run.owner, error=repr(error))
            return
        if ticket is None:
            return
        # Its owner is this node's at that epoch.
        run.epoch = ticket.epoch
        run.on_change()
        if ticket.epoch > 1:
            self.runs.cancel(run.owner, before=ticket.epoch)  # fenced by our claim
        try:
            if ticket.turn is not None:
                # Wait for the event, but no longer.
                if not ticket.turn.is_set():
                    await asyncio.sleep(0)  # it is about to be, most often
                if not ticket.turn.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_TURN_FIRST_SECONDS):  # `wait_for` makes a task
                            await ticket.turn.wait()
            await run_job(self._ctx, self._steps, ticket, run, self._find)
        except asyncio.CancelledError:
            log.info("job_aborted", job_id=run.owner)
            raise
        finally:
            if run.leaving and run.cancelled:
                await nodes.hand_over_job(self._ctx, run.owner, ticket.epoch)
        if run.again:
            self.reclaim(run.owner, self._ctx.node)
