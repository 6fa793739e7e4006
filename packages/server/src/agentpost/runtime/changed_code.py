"""A job whose code makes another call than the one recorded waits for code that makes that one.

A wrong deploy must not end work that rolling back would let go on (design: Code that changed).
"""

import asyncio
from dataclasses import dataclass
from functools import partial

import structlog

from agentpost.context import AppContext
from agentpost.domain.errors import Fenced
from agentpost.domain.times import seconds
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.operations import health_state
from agentpost.record import signals as s
from agentpost.runtime.effects import retry_until_recorded
from agentpost.runtime.runs import Run

log = structlog.get_logger(__name__)
_PAUSE_SECONDS = 15.0
_PAUSE_SECONDS_MAX = 600.0


@dataclass(frozen=True, slots=True)
class ChangedCode:
    """``text``: what differs, for the log of the message; ``cause``: the same with values, for the
    operator; ``failure``: what a job that waited in vain says."""

    text: str
    cause: str
    failure: str


class JobCodeMissing(Exception):
    """The process that was to run a job's function cannot find it."""


async def wait_for_code(ctx: AppContext, claim: JobClaim, change: ChangedCode, run: Run) -> None:
    """Tell that the job waits, and have it run again after a pause that grows with the time it has
    waited; fail it after `code_changed_wait_seconds`.

    A run that is ended while it waits was stopped, is taken by another node, or leaves this one.
    """
    limit = seconds(ctx.settings.code_changed_wait_seconds)
    try:
        since = await jobs.code_changed(ctx, claim, change.text, change.cause) if limit else 0
        so_far = ctx.clock.now() - since
        if so_far >= limit:
            failed = s.Failed(change.failure, change.cause)
            await retry_until_recorded(partial(jobs.end, ctx, claim, failed), claim.job_id)
            return
    except Fenced:
        log.info("job_fenced", epoch=claim.epoch)
        return
    except Exception as error:  # the database; `nodes.reconciler` finds that nothing runs it
        log.warning("run_interrupted", owner=claim.job_id, error=repr(error))
        return
    pause = min(
        max(so_far, seconds(_PAUSE_SECONDS)),
        seconds(_PAUSE_SECONDS_MAX),
        limit - so_far,
    )
    run.wait()
    key = f"{claim.job_id}:{claim.epoch}"
    ctx.health.waits(key, claim.job_id, change.text, health_state.CODE)
    try:
        await asyncio.sleep(pause / seconds(1))
    finally:
        ctx.health.waits_no_longer(key)
    run.again = True
