"""What webhooks deliver (spec: Webhook events). Needs an address of ours the deployment reaches."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from agentpost.verify import shapes
from agentpost.verify.check import ADDITION, Check, Group, shaped
from agentpost.verify.comparison import without_links
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import GREETING, JOB_PATH, Probe, usable
from agentpost.verify.receiver import Attempt, Receiver
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    require,
    shown,
)

CHOSEN, OTHER, FLAKY = "/chosen", "/other", "/flaky"
RETRY_SECONDS: Final = 90.0
"""The first retry comes after a minute."""
ENVELOPE = shapes.having(type=shapes.TEXT, timestamp=shapes.ISO, data=shapes.having())


def endpoint_at(probe: Probe, path: str) -> Json:
    """An endpoint of ours; the other one subscribes to all."""
    return probe.hook_at(path, *(["*"] if path == OTHER else []))


def hooks(probe: Probe) -> Receiver:
    """The receiver of an endpoint that is there already."""
    assert probe.hooks is not None
    return probe.hooks


def message_for(probe: Probe, path: str) -> Json:
    """A message whose events go to that endpoint alone, final."""

    def make() -> Json:
        endpoint_at(probe, OTHER)  # is there before, so it would get what it must not
        endpoint_id = endpoint_at(probe, path)["id"]
        sent = probe.send(GREETING, webhook_endpoint_id=endpoint_id)
        return probe.final(usable(sent, 201)["id"])

    return probe.sample(f"message for {path}", make)


def attempt_at(probe: Probe, path: str) -> Attempt:
    """The first attempt that came in there."""
    message_for(probe, path)

    def make() -> Attempt:
        got = hooks(probe).await_count(path, 1, probe.patience)
        if not got:
            raise NotChecked(f"nothing came within {probe.patience:g} s (--timeout)")
        return got[0]

    return probe.sample(f"event at {path}", make)


def event_of(attempt: Attempt) -> Json:
    """The event an attempt carries; `NotChecked` when it is no JSON object."""
    try:
        event: Any = json.loads(attempt.body)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise NotChecked("the body is no JSON object")
    return event


def delivered(probe: Probe) -> None:
    message = message_for(probe, CHOSEN)
    got = hooks(probe).await_count(CHOSEN, 1, probe.patience)
    words = f"an event of {message['id']} within {probe.patience:g} s"
    require(None, bool(got), words, "nothing")


def signed(probe: Probe) -> None:
    attempt = attempt_at(probe, CHOSEN)
    _verified(attempt, endpoint_at(probe, CHOSEN)["secret"])


def _verified(attempt: Attempt, secret: str) -> None:
    """By the official library of Standard Webhooks."""
    from standardwebhooks import Webhook, WebhookVerificationError

    try:
        Webhook(secret).verify(attempt.body, dict(attempt.headers))
    except (WebhookVerificationError, ValueError) as error:
        event_id = attempt.headers.get("webhook-id")
        differs(None, "a signature that fits body, id, time and secret", f"{error} ({event_id})")


def headers(probe: Probe) -> None:
    got = attempt_at(probe, CHOSEN).headers
    wanted = {
        "webhook-id": got.get("webhook-id", "").startswith("evt_"),
        "webhook-timestamp": got.get("webhook-timestamp", "").isdigit(),
        "webhook-signature": "v1," in got.get("webhook-signature", ""),
        "content-type": got.get("content-type", "").startswith("application/json"),
    }
    for name, right in wanted.items():
        require(None, right, f"a proper header {name}", got.get(name, "none"))


def envelope(probe: Probe) -> None:
    event = event_of(attempt_at(probe, CHOSEN))
    shaped(_reading(probe), ENVELOPE, event)
    expected = f"message.{event['data'].get('status')}"
    require(None, event["type"] == expected, f"type {expected}", event["type"])


def same_as_read(probe: Probe) -> None:
    final = message_for(probe, CHOSEN)
    for attempt in hooks(probe).at(CHOSEN):
        event = event_of(attempt)
        data = event.get("data")
        if event.get("type") == f"message.{final.get('status')}" and isinstance(data, dict):
            read = expect_status(_reading(probe), 200)
            same = without_links(data) == without_links(read)
            require(None, same, f"the message as it is read: {shown(read)}", shown(data))
            return
    raise NotChecked("no event of the final message came")


def _reading(probe: Probe) -> Exchange:
    return probe.read(message_for(probe, CHOSEN)["id"])


def subscribed(probe: Probe) -> None:
    got = _of_subscription(probe)
    words = f"an event of {_for_everybody(probe)['id']} within {probe.patience:g} s"
    require(None, bool(got), words, "nothing")


def _for_everybody(probe: Probe) -> Json:
    """A message that names no endpoint, sent after the one that names another."""
    message_for(probe, CHOSEN)

    def make() -> Json:
        return probe.final(usable(probe.send(GREETING), 201)["id"])

    return probe.sample("message for every endpoint", make)


def _of_subscription(probe: Probe) -> list[Attempt]:
    """Its events at the endpoint that subscribes to all, once there are some."""
    message_id = _for_everybody(probe)["id"]

    def make() -> list[Attempt]:
        return _await_at_other(probe, message_id)

    return probe.sample("event for every endpoint", make)


def _await_at_other(probe: Probe, word: str) -> list[Attempt]:
    """What names that word among all that arrives there, once there is some or the patience ends;
    other events of the account may come as well, and prolong nothing."""
    deadline = time.monotonic() + probe.patience
    while True:
        left = deadline - time.monotonic()
        got = hooks(probe).at(OTHER)
        found = [attempt for attempt in got if word in _text_of(attempt)]
        if found or left <= 0:
            return found
        hooks(probe).await_count(OTHER, len(got) + 1, left)


def _text_of(attempt: Attempt) -> str:
    return f"{attempt.headers.get('webhook-id')} {attempt.body.decode(errors='replace')}"


def only_chosen(probe: Probe) -> None:
    """A later event has come to the other endpoint: an earlier one would be there as well."""
    if not _of_subscription(probe):
        raise NotChecked("the other endpoint got nothing at all")
    message_id = message_for(probe, CHOSEN)["id"]
    wrong = [each for each in hooks(probe).at(OTHER) if message_id in _text_of(each)]
    require(None, not wrong, "its events at the chosen endpoint only", f"{len(wrong)} elsewhere")


def job_event(probe: Probe) -> None:
    """The job's message was sent for this endpoint, if that was possible."""
    endpoint_at(probe, JOB_PATH)
    message = probe.job_done()
    jobs = {job.get("job_id"): job for job in message["jobs"] if job.get("status") == "completed"}
    if not jobs:
        raise NotChecked("no job was completed")
    got = {
        event["data"].get("job_id"): event["data"]
        for event in map(event_of, _job_attempts(probe, len(message["jobs"]) + 1))
        if event.get("type") == "job.completed"
    }
    require(None, got.keys() == jobs.keys(), f"job.completed of {list(jobs)}", list(got))
    expected = {"object": "job", "message_id": message["id"]}
    for job_id, data in got.items():
        shaped(_reading_job(probe), shapes.JOB, data)
        same = without_links(data) == without_links({**jobs[job_id], **expected})
        require(None, same, f"the job as it is read, and {expected}", shown(data))


def _job_attempts(probe: Probe, count: int) -> list[Attempt]:
    """An event for each job and one for the message."""
    return hooks(probe).await_count(JOB_PATH, count, probe.patience)


def _reading_job(probe: Probe) -> Exchange:
    return probe.read(probe.job_done()["id"])


def recorded(probe: Probe) -> None:
    event_id = attempt_at(probe, CHOSEN).headers.get("webhook-id")
    exchange = probe.caller.call("GET", f"/v1/webhooks/{endpoint_at(probe, CHOSEN)['id']}")
    found = [
        each
        for each in expect_status(exchange, 200).get("recent_deliveries") or []
        if each.get("id") == event_id
    ]
    require(exchange, len(found) == 1, f"the delivery {event_id}", f"{len(found)} of it")
    reported = (found[0].get("status"), found[0].get("last_status_code"))
    require(exchange, reported == ("delivered", 200), "delivered, with 200", reported)


def retried(probe: Probe) -> None:
    endpoint_at(probe, FLAKY)
    hooks(probe).failing.add(FLAKY)
    first = attempt_at(probe, FLAKY)
    event_id = first.headers.get("webhook-id")
    got = hooks(probe).await_count(FLAKY, 2, max(RETRY_SECONDS, probe.patience))
    again = [attempt.headers.get("webhook-id") for attempt in got[1:]]
    require(None, event_id in again, f"{event_id} again after a failure", again or "nothing")


def rotated(probe: Probe) -> None:
    """A test event needs no message; agentpost adds it to the API."""
    path = f"/v1/webhooks/{endpoint_at(probe, OTHER)['id']}"
    secret = expect_status(probe.caller.call("POST", f"{path}/rotate-secret"), 200)["secret"]
    tested = probe.caller.call("POST", f"{path}/test")
    if tested.status in (404, 405):
        raise NotChecked("this deployment sends no test events")
    event_id = str(expect_status(tested, 200, 201).get("id"))
    got = _await_at_other(probe, event_id)
    require(tested, bool(got), f"the test event {event_id}", "nothing")
    _verified(got[0], secret)


GROUP = Group(
    "deliveries",
    "what webhooks deliver",
    (
        Check("delivered", "The endpoint a message names gets its events, subscribed or not.",
              "Webhook events 3", delivered),
        Check("signed", "The signature fits: Standard Webhooks.", "Webhook events 5", signed),
        Check("headers", "Id, time, signature and content type are there.", "Webhook events 4",
              headers),
        Check("envelope", "An event is its type, a time and the message.", "Webhook events 2",
              envelope),
        Check("same-as-read", "An event carries the message as it is read.", "Webhook events 2",
              same_as_read),
        Check("job-event", "The event of a job carries the job as it is read, and its message.",
              "Webhook events 2", job_event),
        Check("recorded", "The endpoint shows the delivery.", "Webhook endpoint", recorded),
        Check("subscribed", "An endpoint that subscribes to all gets the events of a message.",
              "Webhook events 3", subscribed),
        Check("only-chosen", "No other endpoint gets the events of a message that names one.",
              "Webhook events 3", only_chosen),
        Check("retried", "A failed delivery is tried again under the same id.",
              "Webhook events 4 and 7", retried),
        Check("rotated", "After a rotation the new secret signs.", ADDITION, rotated),
    ),
    sends=("chosen", "for all", "flaky", "job"),
    needs="hooks",
)  # fmt: skip
