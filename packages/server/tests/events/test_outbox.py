"""Webhook events as they are stored in the commit of the change (spec: Webhook events 1-3)."""

from typing import Any

import pytest

from agentpost.accounts import actions as accounts
from agentpost.credits import actions as credits
from agentpost.jobs import actions as jobs, works
from tests.harness.context import Harness, open_harness
from tests.harness.ends import finish
from tests.links import without_links


async def test_an_event_when_a_status_becomes_final(harness: Harness) -> None:
    """Once more when final becomes true without a change of status (design: Webhook events)."""
    ticket = await harness.begin_turn()
    await harness.start(ticket, "a")
    await harness.start(ticket, "b")
    await harness.end(ticket)
    [first, second] = [
        harness.owned(row[0]) for row in harness.all("SELECT id FROM jobs ORDER BY id")
    ]
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(harness.ctx, second, harness.call(second.job_id), 200_000_000)
    await finish(harness.ctx, first, "Done.", None, "{}")
    harness.tick()
    work_id = harness.job(ticket.message.id, 1)["work_id"]
    await works.stop(harness.ctx, harness.account_id, work_id)
    reported = [
        (name, data["final"]) for name, data in harness.events(ticket.message.id, "message.")
    ]
    assert reported == [("message.partial", False), ("message.partial", True)]


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


@pytest.mark.rule("Additions metadata")
async def test_job_events_carry_the_labels_of_their_message(harness: Harness) -> None:
    """`metadata` and the trace go through everything; a poll's Job has neither (design:
    Additions).
    """
    given = {"metadata": {"customer": "7"}, "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    message_id = await finished(harness, **given)
    [(_, data)] = harness.events(message_id, "job.")
    plain = without_links(harness.job(message_id))
    assert data == {"object": "job", "message_id": message_id, **plain, **given}
    assert not given.keys() & plain.keys()
    [(_, data)] = harness.events(message_id, "message.")
    assert given.items() <= data.items()


async def finished(harness: Harness, **more: Any) -> str:
    ticket = await harness.begin_turn(**more)
    started = await harness.start(ticket)
    await harness.end(ticket)
    await finish(harness.ctx, harness.owned(started.job_id), "Done.", None, "{}")
    return ticket.message.id


async def test_nothing_is_stored_for_nobody(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with open_harness(tmp_path_factory.mktemp("context"), listening=False) as harness:
        message_id = await finished(harness)
        assert harness.events(message_id) == []
