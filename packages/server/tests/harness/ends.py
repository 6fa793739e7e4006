"""How jobs end in tests that run none."""

from agentpost.context import AppContext
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.record import signals as s


async def finish(
    ctx: AppContext, claim: JobClaim, text: str, question: str | None, state_json: str
) -> None:
    """The job's function returned."""
    await jobs.end(ctx, claim, s.Finished(text, question), state_json)


async def fail(ctx: AppContext, claim: JobClaim, text: str) -> None:
    """The job's function raised."""
    await jobs.end(ctx, claim, s.Failed(text))
