"""Webhook events as they are stored in the commit of the change (spec: Webhook events 1-3)."""

from typing import Any

import pytest

from agentpost.domain.errors import Refusal
from agentpost.services import accounts, credits, jobs, works
from tests.links import without_links
from tests.services.harness import Harness, opened


async def blocked_then_completed(harness: Harness) -> str:
    """A message that reached two statuses."""
    message_id, [job] = await harness.working("Chart")
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(harness.ctx, job, harness.call(job.job_id), 200_000_000)
    harness.tick()
    await credits.add(harness.ctx, harness.account_id, 200)
    await jobs.finish(harness.ctx, harness.owned(job.job_id), "Done.", None, "{}")
    return message_id


@pytest.mark.rule("Webhook events 1")
async def test_one_event_for_each_status_reached(harness: Harness) -> None:
    """A message can reach several; data.final tells if more can follow."""
    message_id = await blocked_then_completed(harness)
    reported = [(name, data["final"]) for name, data in harness.events(message_id, "message.")]
    assert reported == [("message.blocked", False), ("message.completed", True)]


async def test_an_event_when_a_status_becomes_final(harness: Harness) -> None:
    """Once more when final becomes true without a change of status (design: Webhook events)."""
    ticket = await harness.begun()
    await harness.start(ticket, "a")
    await harness.start(ticket, "b")
    await harness.end(ticket)
    [first, second] = [
        harness.owned(row[0]) for row in harness.all("SELECT id FROM jobs ORDER BY id")
    ]
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(harness.ctx, second, harness.call(second.job_id), 200_000_000)
    await jobs.finish(harness.ctx, first, "Done.", None, "{}")
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
    ticket = await harness.begun()
    first = await harness.start(ticket, "first")
    job = harness.owned(first.job_id)
    await jobs.charge(harness.ctx, job, harness.call(job.job_id), 100_000_000, "")
    assert (await harness.start(ticket, "second")).state == "queued"
    await harness.end(ticket)
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, True)
    await credits.add(harness.ctx, harness.account_id, 10)
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, False)
    await harness.working(*"bcde")
    await jobs.finish(harness.ctx, job, "Done.", None, "{}")
    assert harness.job(ticket.message.id, 1)["status"] == "running"
    assert harness.names(ticket.message.id, "message.") == []


@pytest.mark.rule("Webhook events 2")
async def test_the_data_of_a_message_event_is_the_message(harness: Harness) -> None:
    """As GET returns it, at the moment of the change."""
    message_id, [job] = await harness.working("Chart")
    await jobs.write_file(
        harness.ctx, job, harness.call(job.job_id), await harness.file(job, "a.txt"), 0
    )
    await jobs.finish(harness.ctx, job, "Done.", None, "{}")
    [(_, data)] = harness.events(message_id, "message.")
    assert data == without_links(harness.shown(message_id))


@pytest.mark.rule("Webhook events 2")
async def test_the_data_of_a_job_event_is_the_job(harness: Harness) -> None:
    """The Job with `object` and `message_id`."""
    message_id, [job] = await harness.working("Chart")
    await jobs.write_file(
        harness.ctx, job, harness.call(job.job_id), await harness.file(job, "a.txt"), 0
    )
    await jobs.finish(harness.ctx, job, "Done.", None, "{}")
    [(_, data)] = harness.events(message_id, "job.")
    plain = without_links(harness.job(message_id))
    assert data == {"object": "job", "message_id": message_id, **plain}


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


def receivers(harness: Harness, message_id: str) -> set[tuple[str, str, str]]:
    """(event name, endpoint, status) of every delivery of a message."""
    sql = (
        "SELECT e.name, d.endpoint_id, d.status FROM deliveries d"
        " JOIN events e ON e.id = d.event_id WHERE e.message_id = ?"
    )
    return {(row[0], row[1], row[2]) for row in harness.all(sql, message_id)}


async def finished(harness: Harness, **more: Any) -> str:
    ticket = await harness.begun(**more)
    started = await harness.start(ticket)
    await harness.end(ticket)
    await jobs.finish(harness.ctx, harness.owned(started.job_id), "Done.", None, "{}")
    return ticket.message.id


@pytest.mark.rule("Delivery.id", "Webhook events 3")
async def test_every_subscriber_receives_an_event(harness: Harness) -> None:
    """One event id for all of them (design: Webhook events)."""
    [everything] = harness.one("SELECT id FROM endpoints")
    some = await harness.listen(("job.completed", "job.failed"))
    await harness.listen(("job.failed",))
    await harness.listen(disabled=True)  # collects nothing
    message_id = await finished(harness)
    assert receivers(harness, message_id) == {
        ("job.completed", everything, "pending"),
        ("job.completed", some, "pending"),
        ("message.completed", everything, "pending"),
    }
    assert len(harness.events(message_id)) == 2


@pytest.mark.rule("createMessage.webhook_endpoint_id", "Webhook events 3")
async def test_the_endpoint_a_message_names_receives_all_and_alone(harness: Harness) -> None:
    """Whatever its own events list says."""
    chosen = await harness.listen(("job.failed",))
    message_id = await finished(harness, webhook_endpoint_id=chosen)
    assert receivers(harness, message_id) == {
        ("job.completed", chosen, "pending"),
        ("message.completed", chosen, "pending"),
    }


async def test_events_for_a_named_but_disabled_endpoint_are_dropped(harness: Harness) -> None:
    """design: Webhook events."""
    chosen = await harness.listen(disabled=True)
    message_id = await finished(harness, webhook_endpoint_id=chosen)
    assert {status for _, _, status in receivers(harness, message_id)} == {"dropped"}


@pytest.mark.rule("createMessage.errors", "Errors not_found")
async def test_an_unknown_endpoint_is_refused(harness: Harness) -> None:
    with pytest.raises(Refusal) as refused:
        await harness.send(webhook_endpoint_id="whe_" + "0" * 32)
    assert refused.value.code == "not_found"


async def test_nothing_is_stored_for_nobody(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with opened(tmp_path_factory.mktemp("context"), listening=False) as harness:
        message_id = await finished(harness)
        assert harness.events(message_id) == []
