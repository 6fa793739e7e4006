"""What webhooks deliver (spec: Webhook events). Needs an address of ours the deployment reaches."""

import json
import re
from typing import Final

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from agentpost_verify import shapes
from agentpost_verify.answers import Difference, Json, expect_fields, shown, without_links
from agentpost_verify.checks.jobs import jobs_completed
from agentpost_verify.probe import Probe
from agentpost_verify.receiver import Attempt, Receiver
from agentpost_verify.samples import GREETING, JOB_PATH

CHOSEN, OTHER, FLAKY = "chosen", "other", "flaky"
RETRY_SECONDS: Final = 90.0
"""The first retry comes after a minute."""


# --- endpoints, messages and what came ------------------------------------------------------------
@pytest.fixture(scope="session")
def other(probe: Probe, hooks: Receiver) -> Json:
    """An endpoint that subscribes to all."""
    return probe.create_endpoint(OTHER, events=["*"]).sample(201)


@pytest.fixture(scope="session")
def chosen(probe: Probe, other: Json) -> Json:
    """The endpoint that a message names; the other one is there before it, so it would get what
    it must not."""
    return probe.create_endpoint(CHOSEN).sample(201)


@pytest.fixture(scope="session")
def message(probe: Probe, chosen: Json) -> Json:
    """The message that names the chosen endpoint."""
    return send_to(probe, chosen)


def send_to(probe: Probe, endpoint: Json) -> Json:
    """A message whose events go to that endpoint alone, final."""
    sent = probe.send(GREETING, webhook_endpoint_id=endpoint["id"])
    return probe.final(sent.sample(201)["id"])


@pytest.fixture(scope="session")
def attempt(probe: Probe, hooks: Receiver, message: Json) -> Attempt:
    """The first attempt at the chosen endpoint."""
    return first_attempt(probe, hooks, CHOSEN)


def first_attempt(probe: Probe, hooks: Receiver, path: str) -> Attempt:
    """The first attempt that comes in there."""
    attempts = hooks.await_count(path, 1, probe.patience)
    if not attempts:
        pytest.skip(f"nothing came within {probe.patience:g} s (--timeout)")
    return attempts[0]


@pytest.fixture(scope="session")
def attempts_to_all(probe: Probe, hooks: Receiver, message: Json) -> list[Attempt]:
    """The events of a message that names no endpoint, sent after the one that does."""
    message_to_all = probe.final(probe.send(GREETING).sample(201)["id"])
    return hooks.await_count(OTHER, 1, probe.patience, message_to_all["id"])


def expect_signature(attempt: Attempt, secret: str) -> None:
    """Check the signature with the official library of Standard Webhooks."""
    try:
        Webhook(secret).verify(attempt.body, dict(attempt.headers))
    except (WebhookVerificationError, ValueError) as error:
        words = "a signature that fits body, id, time and secret"
        raise Difference(words, f"{error} ({attempt.id})") from None


# --- checks ---------------------------------------------------------------------------------------
def test_delivered(probe: Probe, hooks: Receiver, message: Json) -> None:
    """The endpoint a message names gets its events, subscribed or not. (Webhook events 3)"""
    attempts = hooks.await_count(CHOSEN, 1, probe.patience)
    assert attempts != [], f"an event of {message['id']} within {probe.patience:g} s"


def test_signed(attempt: Attempt, chosen: Json) -> None:
    """The signature fits: Standard Webhooks. (Webhook events 5)"""
    expect_signature(attempt, chosen["secret"])


def test_headers(attempt: Attempt) -> None:
    """Id, time, signature and content type are there. (Webhook events 4)"""
    patterns = {
        "webhook-id": "evt_.*",
        "webhook-timestamp": "[0-9]+",
        "webhook-signature": ".*v1,.*",
        "content-type": "application/json.*",
    }
    headers = {name: attempt.headers.get(name, "none") for name in patterns}
    wrong = {
        name: headers[name] for name in headers if not re.fullmatch(patterns[name], headers[name])
    }
    assert wrong == {}, "proper headers"


def test_envelope(attempt: Attempt) -> None:
    """An event is its type, a time and the message. (Webhook events 2)"""
    event = json.loads(attempt.body)
    expect_fields(shapes.ENVELOPE, event)
    assert event["type"] == f"message.{event['data'].get('status')}"


def test_same_as_read(probe: Probe, hooks: Receiver, attempt: Attempt, message: Json) -> None:
    """An event carries the message as it is read. (Webhook events 2)"""
    for event in [json.loads(each.body) for each in hooks.at(CHOSEN)]:
        if event.get("type") == f"message.{message.get('status')}" and event.get("data"):
            body = probe.read(message["id"]).expect("200")
            if without_links(event["data"]) != without_links(body):
                raise Difference(f"the message as it is read: {shown(body)}", shown(event["data"]))
            return
    pytest.skip("no event of the final message came")


@pytest.mark.usefixtures("job_endpoint")
def test_job_event(probe: Probe, hooks: Receiver, job_done: Json) -> None:
    """The event of a job carries the job as it is read, and its message. (Webhook events 2)

    The job's message was sent for this endpoint, if that was possible.
    """
    job_ids = jobs_completed(job_done)
    jobs = {
        job["job_id"]: {**job, "object": "job", "message_id": job_done["id"]}
        for job in job_done["jobs"]
        if job["job_id"] in job_ids
    }
    # An event for each job and one for the message.
    attempts = hooks.await_count(JOB_PATH, len(job_done["jobs"]) + 1, probe.patience)
    events = [json.loads(each.body) for each in attempts]
    data = [event["data"] for event in events if event.get("type") == "job.completed"]
    by_job = {each.get("job_id"): each for each in data}
    assert sorted(by_job) == sorted(jobs), f"job.completed of {sorted(jobs)}"
    for job_id, job in by_job.items():
        expect_fields(shapes.JOB, job)
        if without_links(job) != without_links(jobs[job_id]):
            raise Difference("the job as it is read, and its message", shown(job))


def test_recorded(probe: Probe, attempt: Attempt, chosen: Json) -> None:
    """The endpoint shows the delivery. (Webhook endpoint)"""
    body = probe.call("GET", f"/v1/webhooks/{chosen['id']}").expect("200")
    deliveries = body.get("recent_deliveries") or []
    ours = [each for each in deliveries if each.get("id") == attempt.id]
    states = [(each.get("status"), each.get("last_status_code")) for each in ours]
    assert states == [("delivered", 200)], f"the delivery {attempt.id}: delivered, with 200"


def test_subscribed(probe: Probe, attempts_to_all: list[Attempt]) -> None:
    """An endpoint that subscribes to all gets the events of a message. (Webhook events 3)"""
    assert attempts_to_all != [], f"an event of a later message within {probe.patience:g} s"


def test_only_chosen(hooks: Receiver, message: Json, attempts_to_all: list[Attempt]) -> None:
    """No other endpoint gets the events of a message that names one. (Webhook events 3)

    A later event has come to the other endpoint: an earlier one would be there as well.
    """
    if not attempts_to_all:
        pytest.skip("the other endpoint got nothing at all")
    elsewhere = [each.id for each in hooks.at(OTHER, message["id"])]
    assert elsewhere == [], "its events at the chosen endpoint only"


@pytest.mark.usefixtures("other")
def test_retried(probe: Probe, hooks: Receiver) -> None:
    """A failed delivery is tried again under the same id. (Webhook events 4 and 7)"""
    hooks.failing.add(FLAKY)
    send_to(probe, probe.create_endpoint(FLAKY).sample(201))
    event_id = first_attempt(probe, hooks, FLAKY).id
    attempts = hooks.await_count(FLAKY, 2, max(RETRY_SECONDS, probe.patience))
    assert event_id in [each.id for each in attempts[1:]], f"{event_id} again after a failure"


def test_rotated(probe: Probe, hooks: Receiver, other: Json) -> None:
    """After a rotation the new secret signs. (addition)

    A test event needs no message; agentpost adds it to the API.
    """
    path = f"/v1/webhooks/{other['id']}"
    secret = probe.call("POST", f"{path}/rotate-secret").expect("200")["secret"]
    exchange = probe.call("POST", f"{path}/test")
    if exchange.status in (404, 405):
        pytest.skip("this deployment sends no test events")
    event_id = str(exchange.expect("200", "201").get("id"))
    attempts = hooks.await_count(OTHER, 1, probe.patience, event_id)
    assert attempts != [], f"the test event {event_id}"
    expect_signature(attempts[0], secret)
