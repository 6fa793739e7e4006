"""Webhook events as they are stored in the commit of the change (spec: Webhook events 1-3)."""

import pytest

from agentpost.accounts import actions as accounts
from agentpost.credits import actions as credits
from agentpost.jobs import actions as jobs
from tests.harness.context import Harness
from tests.harness.ends import finish


@pytest.mark.rule("What the service does 3")
async def test_a_status_that_no_poll_could_see_is_no_event(harness: Harness) -> None:
    """A job ends and queued work of the same message takes its slot in the same commit; the message
    was processing all along.
    """
    ticket = await harness.begin_turn()
    first = await harness.start(ticket, "first")
    job = harness.owned(first.job_id)
    await jobs.charge(harness.ctx, job, harness.call(job.job_id), 100_000_000, "")
    assert (await harness.start(ticket, "second")).state == "queued"
    await harness.end(ticket)
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, True)
    await credits.add(harness.ctx, harness.account_id, 10)
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, False)
    await harness.working(*"bcde")
    await finish(harness.ctx, job, "Done.", None, "{}")
    assert harness.job(ticket.message.id, 1)["status"] == "running"
    assert harness.names(ticket.message.id, "message.") == []
