"""Webhook events as they are stored in the commit of the change (spec: Webhook events 1-3)."""

from typing import Any

import pytest

from agentpost.domain.errors import Refusal
from agentpost.services import accounts, credits, jobs, works
from tests.services.house import Desk, Shape, opened


def without_links(shape: Shape) -> Shape:
    """A Message or Job whose files have no links: they are signed when an event is sent."""

    def plain(files: list[Shape]) -> list[Shape]:
        return [{**file, "url": ""} for file in files]

    listed = {"jobs": [without_links(job) for job in shape["jobs"]]} if "jobs" in shape else {}
    return {**shape, "files": plain(shape["files"]), **listed}


async def blocked_then_completed(desk: Desk) -> str:
    """A message that reached two statuses."""
    message_id, [job] = await desk.working("Chart")
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(desk.house, job, desk.call(job.job_id), 200_000_000)
    desk.tick()
    await credits.add(desk.house, desk.account_id, 200)
    await jobs.finish(desk.house, desk.owned(job.job_id), "Done.", None, "{}")
    return message_id


@pytest.mark.rule("Webhook events 1")
async def test_one_event_for_each_status_reached(desk: Desk) -> None:
    """A message can reach several; data.final tells if more can follow."""
    message_id = await blocked_then_completed(desk)
    told = [(name, data["final"]) for name, data in desk.events(message_id, "message.")]
    assert told == [("message.blocked", False), ("message.completed", True)]


async def test_an_event_when_a_status_becomes_final(desk: Desk) -> None:
    """Once more when final becomes true without a change of status (design: Webhook events)."""
    ticket = await desk.begun()
    await desk.start(ticket, "a")
    await desk.start(ticket, "b")
    await desk.end(ticket)
    [first, second] = [desk.owned(row[0]) for row in desk.all("SELECT id FROM jobs ORDER BY id")]
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(desk.house, second, desk.call(second.job_id), 200_000_000)
    await jobs.finish(desk.house, first, "Done.", None, "{}")
    desk.tick()
    work_id = desk.job(ticket.message.id, 1)["work_id"]
    await works.stop(desk.house, desk.account_id, work_id)
    told = [(name, data["final"]) for name, data in desk.events(ticket.message.id, "message.")]
    assert told == [("message.partial", False), ("message.partial", True)]


@pytest.mark.rule("What the service does 3")
async def test_a_status_that_no_poll_could_see_is_no_event(desk: Desk) -> None:
    """A job ends and queued work of the same message takes its slot in the same commit; the message
    was processing all along.
    """
    ticket = await desk.begun()
    first = await desk.start(ticket, "first")
    job = desk.owned(first.job_id)
    await jobs.charge(desk.house, job, desk.call(job.job_id), 100_000_000, "")
    assert (await desk.start(ticket, "second")).state == "queued"
    await desk.end(ticket)
    await accounts.set_hosting_fees(desk.house, desk.account_id, True)
    await credits.add(desk.house, desk.account_id, 10)
    await accounts.set_hosting_fees(desk.house, desk.account_id, False)
    await desk.working(*"bcde")
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert desk.job(ticket.message.id, 1)["status"] == "running"
    assert desk.names(ticket.message.id, "message.") == []


@pytest.mark.rule("Webhook events 2")
async def test_the_data_of_a_message_event_is_the_message(desk: Desk) -> None:
    """As GET returns it, at the moment of the change."""
    message_id, [job] = await desk.working("Chart")
    await jobs.write_file(desk.house, job, desk.call(job.job_id), await desk.file(job, "a.txt"), 0)
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    [(_, data)] = desk.events(message_id, "message.")
    assert data == without_links(desk.shown(message_id))


@pytest.mark.rule("Webhook events 2")
async def test_the_data_of_a_job_event_is_the_job(desk: Desk) -> None:
    """The Job with `object` and `message_id`."""
    message_id, [job] = await desk.working("Chart")
    await jobs.write_file(desk.house, job, desk.call(job.job_id), await desk.file(job, "a.txt"), 0)
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    [(_, data)] = desk.events(message_id, "job.")
    plain = without_links(desk.job(message_id))
    assert data == {"object": "job", "message_id": message_id, **plain}


@pytest.mark.rule("Additions metadata")
async def test_job_events_carry_the_labels_of_their_message(desk: Desk) -> None:
    """`metadata` and the trace go through everything; a poll's Job has neither (design:
    Additions).
    """
    given = {"metadata": {"customer": "7"}, "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    message_id = await finished(desk, **given)
    [(_, data)] = desk.events(message_id, "job.")
    plain = without_links(desk.job(message_id))
    assert data == {"object": "job", "message_id": message_id, **plain, **given}
    assert not given.keys() & plain.keys()
    [(_, data)] = desk.events(message_id, "message.")
    assert given.items() <= data.items()


def receivers(desk: Desk, message_id: str) -> set[tuple[str, str, str]]:
    """(event name, endpoint, status) of every delivery of a message."""
    sql = (
        "SELECT e.name, d.endpoint_id, d.status FROM deliveries d"
        " JOIN events e ON e.id = d.event_id WHERE e.message_id = ?"
    )
    return {(row[0], row[1], row[2]) for row in desk.all(sql, message_id)}


async def finished(desk: Desk, **more: Any) -> str:
    ticket = await desk.begun(**more)
    started = await desk.start(ticket)
    await desk.end(ticket)
    await jobs.finish(desk.house, desk.owned(started.job_id), "Done.", None, "{}")
    return ticket.message.id


@pytest.mark.rule("Delivery.id", "Webhook events 3")
async def test_every_subscriber_receives_an_event(desk: Desk) -> None:
    """One event id for all of them (design: Webhook events)."""
    [everything] = desk.one("SELECT id FROM endpoints")
    some = await desk.listen(("job.completed", "job.failed"))
    await desk.listen(("job.failed",))
    await desk.listen(disabled=True)  # collects nothing
    message_id = await finished(desk)
    assert receivers(desk, message_id) == {
        ("job.completed", everything, "pending"),
        ("job.completed", some, "pending"),
        ("message.completed", everything, "pending"),
    }
    assert len(desk.events(message_id)) == 2


@pytest.mark.rule("createMessage.webhook_endpoint_id", "Webhook events 3")
async def test_the_endpoint_a_message_names_receives_all_and_alone(desk: Desk) -> None:
    """Whatever its own events list says."""
    chosen = await desk.listen(("job.failed",))
    message_id = await finished(desk, webhook_endpoint_id=chosen)
    assert receivers(desk, message_id) == {
        ("job.completed", chosen, "pending"),
        ("message.completed", chosen, "pending"),
    }


async def test_events_for_a_named_but_disabled_endpoint_are_dropped(desk: Desk) -> None:
    """design: Webhook events."""
    chosen = await desk.listen(disabled=True)
    message_id = await finished(desk, webhook_endpoint_id=chosen)
    assert {status for _, _, status in receivers(desk, message_id)} == {"dropped"}


@pytest.mark.rule("createMessage.errors", "Errors not_found")
async def test_an_unknown_endpoint_is_refused(desk: Desk) -> None:
    with pytest.raises(Refusal) as refused:
        await desk.send(webhook_endpoint_id="whe_" + "0" * 32)
    assert refused.value.code == "not_found"


async def test_nothing_is_stored_for_nobody(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with opened(tmp_path_factory.mktemp("house"), listening=False) as desk:
        message_id = await finished(desk)
        assert desk.events(message_id) == []
