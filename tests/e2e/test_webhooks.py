"""Webhooks from a running server to real receivers, good and bad (spec: Webhook events)."""

import json
import re
import threading
import time
from collections import Counter

import httpx2
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tests.e2e.agents import Script
from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import (
    Behaviour,
    Delivery,
    Receiver,
    ReceiverMaker,
    drip,
    raw_receiver,
    reset,
)
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

SETTINGS = {
    "egress_allow": "127.0.0.1/32",
    "webhook_timeout_seconds": 3.0,
    "webhook_retry_seconds": "0.3",
    "sweep_seconds": 0.05,
    "turn_reply_seconds": 30,
}
SIGNED = re.compile(rb"\?exp=[0-9]+&rev=[^&\"]*&sig=[^\"]*")


def data_of(delivery: Delivery) -> bytes:
    """The bytes of `data`, which ends the body."""
    return SIGNED.sub(b"", delivery.body.partition(b'"data":')[2][:-1])


def read(caller: Caller, message: Json) -> bytes:
    """The bytes of the message as it is now; each reading signs links anew."""
    return SIGNED.sub(b"", caller.call("GET", f"/v1/messages/{message['id']}").content)


def delivery_of(receiver: Receiver, secret: str, name: str) -> Delivery:
    """The delivery of that event, once it is there."""

    def look() -> Delivery | None:
        return next((d for d in receiver.got if d.verified(secret)["type"] == name), None)

    return eventually(look, what=name)


# --- what is sent ---------------------------------------------------------------------------------
@pytest.mark.rule(
    "What the service does 3",
    "Webhook events job.blocked",
    "Webhook events job.completed",
    "Webhook events job.resumed",
    "Webhook events message.blocked",
    "Webhook events message.completed",
    "Webhook events 1",
    "Webhook events 2",
    "Additions traceparent",
)
def test_each_status_reached_is_reported_as_described_and_as_a_read_shows_it(
    server: AgentServer, receivers: ReceiverMaker
) -> None:
    """Blocked, then completed; byte for byte what a read answered at that time, with the caller's
    trace and links that work."""
    server.command("accounts", "create", "--email", "poor@example.com")
    words = ("keys", "create", "--account", "poor@example.com", "--name", "first")
    caller, receiver = Caller(server, server.command(*words)["key"]), receivers()
    secret = Hooks(caller).create(receiver.url)["secret"]
    job = [["write", "a é.txt", "All is well."], ["charge", 1], ["return", "Done."]]
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    like_a_file = {"ü": '"\\', "file_id": "wrk_1/secret.txt", "revision": '"1"', "url": ""}
    body = {"message": json.dumps([["start", "Work", job]]), "metadata": like_a_file}
    headers = {"traceparent": trace}
    message = caller.call("POST", "/v1/messages", json=body, headers=headers).json()
    blocked = delivery_of(receiver, secret, "message.blocked")
    assert data_of(blocked) == read(caller, message)
    assert blocked.verified(secret)["data"]["final"] is False
    server.command("credits", "add", "poor@example.com", "5")
    completed = delivery_of(receiver, secret, "message.completed")
    assert data_of(completed) == read(caller, message)
    delivery_of(receiver, secret, "job.completed")

    events = {event["type"]: event for event in receiver.events(secret)}
    messages, jobs = {"message.blocked", "message.completed"}, {"job.blocked", "job.resumed"}
    assert set(events) == messages | jobs | {"job.completed"}
    assert len({delivery.id for delivery in receiver.got}) == len(receiver.got) == 5
    assert {delivery.headers["content-type"] for delivery in receiver.got} == {"application/json"}
    described = caller.contract.document["webhooks"]
    for name, event in events.items():
        schema = described[name]["post"]["requestBody"]["content"]["application/json"]["schema"]
        caller.contract.check_shape(schema["$ref"].rpartition("/")[2], event)
        assert set(event) == {"type", "timestamp", "data"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["timestamp"])
        assert event["data"]["metadata"] == like_a_file, "it gets no link"
        assert event["data"]["traceparent"] == trace
    assert {delivery.headers["traceparent"] for delivery in receiver.got} == {trace}
    done, whole = events["job.completed"]["data"], events["message.completed"]["data"]
    assert (done["object"], done["message_id"]) == ("job", message["id"])
    assert done["job_id"] == message["jobs"][0]["job_id"]
    assert whole["final"] is True
    for holder in (done, whole, whole["jobs"][0]):
        (file,) = holder["files"]
        assert httpx2.get(file["url"]).content == b"All is well."


@pytest.mark.rule(
    "Webhook events job.failed",
    "Webhook events message.partial",
    "Webhook events message.failed",
    "Webhook events message.needs_input",
    "Webhook events 3",
)
def test_every_ending_has_its_event_for_who_subscribed_to_it(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    all_of_them, failures = receivers(), receivers()
    secret = hooks.create(all_of_them.url)["secret"]
    only = hooks.create(failures.url, events=["message.failed"])["secret"]
    two_jobs = [["start", "A", [["broken_step"]]], ["start", "B", [["return", "b"]]]]
    scripts: dict[str, Script] = {
        "message.needs_input": [["ask", "Which?"]],
        "message.failed": [["leak", "error"]],
        "message.partial": two_jobs,
    }
    sent = {name: caller.send(script) for name, script in scripts.items()}
    for name, message in sent.items():
        assert data_of(delivery_of(all_of_them, secret, name)) == read(caller, message)
    all_of_them.await_count(5)
    reported = Counter(event["type"] for event in all_of_them.events(secret))
    assert reported == Counter([*scripts, "job.completed", "job.failed"])
    (failure,) = failures.await_count(1)
    assert failure.verified(only)["data"]["id"] == sent["message.failed"]["id"]


@pytest.mark.rule("createMessage.webhook_endpoint_id", "Webhook events 3")
def test_the_chosen_endpoint_alone_gets_everything_and_nobody_else_when_it_is_gone(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    chosen, others = receivers(), receivers()
    endpoint = hooks.create(chosen.url, events=["job.expired"])
    other = hooks.create(others.url)
    caller.send("hello", webhook_endpoint_id=endpoint["id"])
    (delivery,) = chosen.await_count(1)
    assert delivery.verified(endpoint["secret"])["type"] == "message.completed"
    hooks.settled(endpoint, "delivered")
    script = [["start", "A", [["gate", "removed"], ["return", "x"]]]]
    message = caller.send(script, webhook_endpoint_id=endpoint["id"])
    caller.call("DELETE", f"/v1/webhooks/{endpoint['id']}")
    server.open_gate("removed")
    caller.final(message["id"])
    hooks.post(f"{other['id']}/test")
    (only,) = others.await_count(1)
    assert json.loads(only.body)["type"] == "webhook.test"
    assert len(chosen.got) == 1


def test_a_disabled_endpoint_collects_nothing_but_keeps_what_was_meant_for_it(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url)
    hooks.change(endpoint, enabled=False)
    caller.send("for everybody")
    since = caller.send("for you", webhook_endpoint_id=endpoint["id"])["created_at"]
    (dropped,) = hooks.deliveries(endpoint)
    assert (dropped["status"], dropped["attempts"]) == ("dropped", 0)
    hooks.change(endpoint, enabled=True)
    replayed = hooks.post(f"{endpoint['id']}/replay", json={"since": since})
    assert replayed["deliveries"] == 1
    (delivery,) = receiver.await_count(1)
    assert delivery.verified(endpoint["secret"])["data"]["reply"] == "You said: for you"
    assert hooks.settled(endpoint, "delivered")["id"] == dropped["id"] == delivery.id


# --- again ----------------------------------------------------------------------------------------
@pytest.mark.rule(
    "Delivery.object",
    "Delivery.id",
    "Delivery.event",
    "Delivery.message_id",
    "Delivery.created_at",
    "Delivery.attempts",
    "Delivery.delivered_at",
    "Delivery.last_error",
    "Delivery.last_response",
    "Delivery.next_attempt_at",
    "Additions attempt_log",
    "Webhook events 4",
    "Webhook events 5",
    "Webhook events 7",
)
def test_a_failed_delivery_is_tried_again_with_the_same_id_and_signed_afresh(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    """Checked with the official library. The receiver cannot change the schedule, neither by
    Retry-After nor by saying that it is gone for good. Each attempt is shown."""
    receiver = receivers(500)
    receiver.first, receiver.headers["Retry-After"] = [410, 429], "86400"
    endpoint = hooks.create(receiver.url)
    message = caller.send("hello")
    failing = hooks.settled(endpoint, "pending", last_status_code=500)
    assert failing["last_error"] == "it answered with HTTP status 500"
    assert failing["delivered_at"] is None
    assert failing["next_attempt_at"] is not None
    receiver.status = 204
    done = hooks.settled(endpoint, "delivered")
    assert (done["object"], done["event"]) == ("webhook_delivery", "message.completed")
    assert done["message_id"] == message["id"]
    assert (done["last_status_code"], done["last_error"]) == (204, None)
    assert done["next_attempt_at"] is None
    assert done["delivered_at"] > done["created_at"]
    assert done["attempts"] == len(receiver.got) >= 4
    assert {delivery.id for delivery in receiver.got} == {done["id"]}
    assert len({delivery.body for delivery in receiver.got}) == 1
    for delivery in receiver.got:
        assert abs(int(delivery.headers["webhook-timestamp"]) - time.time()) < 60
        delivery.verified(endpoint["secret"])
        tampered = delivery.body.replace(b"message.completed", b"message.completee")
        with pytest.raises(WebhookVerificationError):
            Webhook(endpoint["secret"]).verify(tampered, delivery.headers)
        late = {**delivery.headers, "webhook-timestamp": str(int(time.time()) - 301)}
        with pytest.raises(WebhookVerificationError):
            Webhook(endpoint["secret"]).verify(delivery.body, late)

    path = f"/v1/webhooks/{endpoint['id']}"
    (listed,) = caller.call("GET", f"{path}/deliveries").json()["data"]
    log = listed.pop("attempt_log")
    assert listed == done
    codes = [410, 429, *[500] * (done["attempts"] - 3), 204]
    assert [each["status_code"] for each in log] == codes
    assert [bool(each["error"]) for each in log] == [code != 204 for code in codes]
    assert {each["response"] for each in log[:-1]} == {failing["last_response"]} == {"ok"}
    times = [each["at"] for each in log]
    assert times == sorted(times)
    assert (times[-1], log[-1]["ms"]) == (done["delivered_at"], done["last_ms"])
    story = server.command("explain", message["id"])["story"]
    reported = [line for line in story if line["source"] == "attempt"]
    assert [line["facts"]["code"] for line in reported] == codes
    assert (reported[0]["what"], reported[-1]["what"]) == ("failed", "succeeded")
    shown = caller.call("GET", path).json()
    assert shown["disabled_at"] is shown["failing_since"] is None


@pytest.mark.rule("Webhooks rotate", "Additions grace_seconds")
def test_every_later_delivery_is_signed_with_the_new_secret(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers(500)
    endpoint = hooks.create(receiver.url)
    caller.send("hello")
    (first,) = receiver.await_count(1)[:1]
    rotated = hooks.post(f"{endpoint['id']}/rotate-secret")["secret"]
    before = len(receiver.got)
    later = receiver.await_count(before + 2)[before + 1 :]
    first.verified(endpoint["secret"])
    for delivery in later:
        delivery.verified(rotated)
        assert len(delivery.headers["webhook-signature"].split(" ")) == 1
    both = hooks.post(f"{endpoint['id']}/rotate-secret", json={"grace_seconds": 60})["secret"]
    hooks.post(f"{endpoint['id']}/test")
    receiver.status = 200
    hooks.settled(endpoint, "delivered")
    for secret in (rotated, both):
        assert receiver.got[-1].verified(secret)


@pytest.mark.rule("Additions redeliver", "Additions test", "Additions test-event")
def test_a_test_event_a_sample_and_a_redelivery(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url, events=["job.expired"])
    path = f"/v1/webhooks/{endpoint['id']}"
    sent = hooks.post(f"{endpoint['id']}/test")
    assert (sent["event"], sent["message_id"]) == ("webhook.test", None)
    (delivery,) = receiver.await_count(1)
    event = delivery.verified(endpoint["secret"])
    assert event["data"] == {"object": "webhook_test", "webhook_endpoint_id": endpoint["id"]}
    caller.contract.check_shape("TestEventShape", event)
    hooks.settled(endpoint, "delivered")
    hooks.post(f"{endpoint['id']}/deliveries/{sent['id']}/redeliver")
    assert [each.id for each in receiver.await_count(2)] == [sent["id"]] * 2
    page = caller.call("GET", f"{path}/deliveries?limit=1").json()
    assert ([each["id"] for each in page["data"]], page["has_more"]) == ([sent["id"]], False)

    sample = hooks.post(f"{endpoint['id']}/test", json={"event": "message.completed"})
    assert (sample["event"], sample["message_id"]) == ("message.completed", None)
    event = receiver.await_count(3)[-1].verified(endpoint["secret"])
    assert (receiver.got[-1].id, event["test"]) == (sample["id"], True)
    assert event["data"]["id"] == f"msg_{'0' * 32}"
    assert event["data"]["files"][0]["url"].startswith("http")
    caller.contract.check_shape("MessageEventShape", event)
    unknown = {"event": "message.eaten"}
    refused = caller.refusal(400, "bad_events", "POST", f"{path}/test", json=unknown)
    assert "message.completed" in refused["message"]


@pytest.mark.rule("WebhookEndpoint.recent_deliveries", "Webhooks read", "Limits recent-deliveries")
def test_twenty_deliveries_are_shown_newest_first(hooks: Hooks, receivers: ReceiverMaker) -> None:
    endpoint = hooks.create(receivers().url)
    sent = [hooks.post(f"{endpoint['id']}/test")["id"] for _ in range(22)]
    assert [each["id"] for each in hooks.deliveries(endpoint)] == sent[:1:-1]


# --- receivers that misbehave, restarts and endings -----------------------------------------------
@pytest.mark.rule(
    "Delivery.last_status_code", "Delivery.last_ms", "Limits receiver-timeout", "Webhook events 6"
)
@pytest.mark.parametrize(
    ("behave", "error", "least_ms"),
    [
        (drip, "no answer within 3 seconds", 3_000),
        (reset, "it closed the connection without an answer", 0),
    ],
)
def test_receivers_that_never_answer_fail_in_time(
    hooks: Hooks, behave: Behaviour, error: str, least_ms: int
) -> None:
    with raw_receiver(behave) as url:
        endpoint = hooks.create(url)
        hooks.post(f"{endpoint['id']}/test")
        failed = hooks.settled(endpoint, "pending", last_error=error)
    assert failed["last_status_code"] is None
    assert least_ms <= failed["last_ms"] < least_ms + PROMPT * 1_000


@pytest.mark.rule("Webhook events 7")
def test_a_delivery_on_its_way_at_a_crash_is_sent_again(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    receiver: Receiver = receivers()
    receiver.held = threading.Event()
    endpoint = hooks.create(receiver.url)
    message = caller.send("hello")
    receiver.await_count(1)
    server.kill()
    receiver.held.set()
    receiver.held = None
    server.start()
    first, second = receiver.await_count(2)[:2]
    assert first.id == second.id
    assert second.verified(endpoint["secret"])["data"]["id"] == message["id"]
    assert hooks.settled(endpoint, "delivered")["attempts"] == 1
    assert endpoint["secret"] not in server.log_file.read_text()


@pytest.mark.rule(
    "WebhookEndpoint.disabled_at",
    "WebhookEndpoint.disabled_reason",
    "WebhookEndpoint.failing_since",
    "Webhook endpoint states 1",
    "Webhook events 8",
)
def test_continuous_failure_turns_the_endpoint_off(
    start_server: ServerMaker, receivers: ReceiverMaker
) -> None:
    own = start_server(**{**SETTINGS, "webhook_disable_seconds": 1})
    receiver, caller = receivers(503), Caller(own)
    hooks = Hooks(caller)
    endpoint = hooks.create(receiver.url)
    hooks.post(f"{endpoint['id']}/test")
    path = f"/v1/webhooks/{endpoint['id']}"
    eventually(lambda: caller.call("GET", path).json()["disabled_at"], what="the end")
    off = caller.call("GET", path).json()
    assert off["disabled_reason"] == "failing"
    assert off["failing_since"] < off["disabled_at"]
    assert [each["status"] for each in off["recent_deliveries"]] == ["dropped"]
    on = hooks.change(endpoint, enabled=True)
    assert on["disabled_at"] is on["failing_since"] is None
    receiver.status = 200
    hooks.post(f"{endpoint['id']}/replay", json={"since": off["created_at"]})
    hooks.settled(endpoint, "delivered")
