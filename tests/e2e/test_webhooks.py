"""Webhooks from a running server to real receivers, good and bad (spec: Webhook events)."""

import json
import threading
import time

import httpx2
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import (
    Behaviour,
    Receiver,
    ReceiverMaker,
    drip,
    raw_receiver,
    reset,
    silent,
)
from tests.waiting import PROMPT, eventually

SETTINGS = {
    "egress_allow": "127.0.0.1/32",
    "webhook_timeout_seconds": 3.0,
    "webhook_retry_seconds": "0.4",
    "sweep_seconds": 0.05,
    "turn_reply_seconds": 30,
}


# --- what is sent ---------------------------------------------------------------------------------
@pytest.mark.rule(
    "Delivery.object",
    "Delivery.id",
    "Delivery.event",
    "Delivery.last_response",
    "Delivery.created_at",
    "Delivery.message_id",
    "Webhook events message.completed",
    "Webhook events 2",
)
def test_an_event_is_what_a_read_gives(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url)
    like_a_file = {"file_id": "wrk_1/secret.txt", "revision": '"1"', "url": ""}
    message = caller.send("hello", metadata=like_a_file)
    (delivery,) = receiver.await_count(1)
    event = delivery.verified(endpoint["secret"])
    assert set(event) == {"type", "timestamp", "data"}
    assert event["type"] == "message.completed"
    assert event["data"] == caller.get(message["id"])
    assert event["data"]["metadata"] == like_a_file, "it gets no link"
    caller.contract.check_shape("MessageEventShape", event)
    assert delivery.headers["content-type"] == "application/json"

    shown = hooks.settled(endpoint, "delivered")
    assert (shown["object"], shown["id"]) == ("webhook_delivery", delivery.id)
    assert (shown["event"], shown["message_id"]) == ("message.completed", message["id"])
    assert (shown["attempts"], shown["last_status_code"], shown["last_error"]) == (1, 200, None)
    assert shown["last_response"] == "ok"
    assert shown["delivered_at"] >= shown["created_at"]
    assert shown["next_attempt_at"] is None


@pytest.mark.rule("Webhook events job.completed", "Additions traceparent")
def test_every_event_is_as_described_and_carries_the_trace_and_working_links(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url)
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    script = [["start", "Job", [["write", "report.txt", "All is well."], ["return", "x"]]]]
    message = caller.call(
        "POST",
        "/v1/messages",
        json={"message": json.dumps(script), "metadata": {"a": "b"}},
        headers={"traceparent": trace},
    ).json()
    hooks.post(f"{endpoint['id']}/test")
    deliveries = {
        each.verified(endpoint["secret"])["type"]: each for each in receiver.await_count(3)
    }
    assert set(deliveries) == {"job.completed", "message.completed", "webhook.test"}
    described = caller.contract.document["webhooks"]
    events = {name: each.verified(endpoint["secret"]) for name, each in deliveries.items()}
    for name, event in events.items():
        schema = described[name]["post"]["requestBody"]["content"]["application/json"]["schema"]
        caller.contract.check_shape(schema["$ref"].rpartition("/")[2], event)
        if name == "webhook.test":
            assert "traceparent" not in deliveries[name].headers
            continue
        assert deliveries[name].headers["traceparent"] == event["data"]["traceparent"] == trace
        assert event["data"]["metadata"] == {"a": "b"}
    assert message["traceparent"] == trace
    job, whole = events["job.completed"]["data"], events["message.completed"]["data"]
    assert (job["object"], job["message_id"]) == ("job", message["id"])
    assert job["job_id"] == message["jobs"][0]["job_id"]
    for holder in (job, whole, whole["jobs"][0]):
        (file,) = holder["files"]
        assert httpx2.get(file["url"]).content == b"All is well."


@pytest.mark.rule("Webhook events 3")
def test_only_what_was_subscribed_to(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    failures, all_of_them = receivers(), receivers()
    only = hooks.create(failures.url, events=["message.failed"])
    endpoint = hooks.create(all_of_them.url)
    caller.send("fine")
    broken = caller.send([["leak", "error"]])
    all_of_them.await_count(2)
    events = [event["type"] for event in all_of_them.events(endpoint["secret"])]
    assert sorted(events) == ["message.completed", "message.failed"]
    (failure,) = failures.await_count(1)
    assert failure.verified(only["secret"])["data"]["id"] == broken["id"]


@pytest.mark.rule("createMessage.webhook_endpoint_id")
def test_the_chosen_endpoint_alone_gets_everything(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    chosen, others = receivers(), receivers()
    endpoint = hooks.create(chosen.url, events=["job.expired"])
    hooks.create(others.url)
    caller.send("hello", webhook_endpoint_id=endpoint["id"])
    (delivery,) = chosen.await_count(1)
    assert delivery.verified(endpoint["secret"])["type"] == "message.completed"
    hooks.settled(endpoint, "delivered")
    assert others.got == []


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
    "Delivery.attempts",
    "Delivery.delivered_at",
    "Delivery.last_error",
    "Delivery.next_attempt_at",
    "Webhook events 4",
    "Webhook events 5",
)
def test_a_failed_delivery_is_tried_again_with_the_same_id_and_signed_afresh(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    """Checked with the official library."""
    receiver = receivers(500)
    endpoint = hooks.create(receiver.url)
    caller.send("hello")
    receiver.await_count(2)
    failing = hooks.settled(endpoint, "pending", last_status_code=500)
    assert failing["last_error"] == "it answered with HTTP status 500"
    assert failing["next_attempt_at"] is not None
    receiver.status = 204
    done = hooks.settled(endpoint, "delivered")
    assert (done["last_status_code"], done["last_error"]) == (204, None)
    assert failing["delivered_at"] is done["next_attempt_at"] is None
    assert done["delivered_at"] is not None
    assert done["attempts"] == len(receiver.got) >= 3
    assert {delivery.id for delivery in receiver.got} == {done["id"]}
    assert len({delivery.body for delivery in receiver.got}) == 1
    for delivery in receiver.got:
        assert abs(int(delivery.headers["webhook-timestamp"]) - time.time()) < 60
        assert delivery.headers["content-type"] == "application/json"
        delivery.verified(endpoint["secret"])
        tampered = delivery.body.replace(b"message.completed", b"message.completee")
        with pytest.raises(WebhookVerificationError):
            Webhook(endpoint["secret"]).verify(tampered, delivery.headers)
        late = {**delivery.headers, "webhook-timestamp": str(int(time.time()) - 301)}
        with pytest.raises(WebhookVerificationError):
            Webhook(endpoint["secret"]).verify(delivery.body, late)


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


@pytest.mark.rule("Additions redeliver", "Additions test")
def test_a_test_event_and_a_redelivery(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url, events=["job.expired"])
    sent = hooks.post(f"{endpoint['id']}/test")
    assert (sent["event"], sent["message_id"]) == ("webhook.test", None)
    (delivery,) = receiver.await_count(1)
    event = delivery.verified(endpoint["secret"])
    assert event["data"] == {"object": "webhook_test", "webhook_endpoint_id": endpoint["id"]}
    hooks.settled(endpoint, "delivered")
    hooks.post(f"{endpoint['id']}/deliveries/{sent['id']}/redeliver")
    assert [each.id for each in receiver.await_count(2)] == [sent["id"]] * 2
    page = caller.call("GET", f"/v1/webhooks/{endpoint['id']}/deliveries?limit=1").json()
    assert ([each["id"] for each in page["data"]], page["has_more"]) == ([sent["id"]], False)


@pytest.mark.rule("Additions test-event")
def test_a_sample_of_an_event_is_sent(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    endpoint = hooks.create(receiver.url, events=["job.expired"])
    path = f"/v1/webhooks/{endpoint['id']}/test"
    sent = caller.call("POST", path, json={"event": "message.completed"}).json()
    assert (sent["event"], sent["message_id"]) == ("message.completed", None)
    (delivery,) = receiver.await_count(1)
    event = delivery.verified(endpoint["secret"])
    assert (delivery.id, event["type"], event["test"]) == (sent["id"], "message.completed", True)
    assert event["data"]["id"] == f"msg_{'0' * 32}"
    assert event["data"]["files"][0]["url"].startswith("http")
    caller.contract.check_shape("MessageEventShape", event)
    refused = caller.refusal(400, "bad_events", "POST", path, json={"event": "message.eaten"})
    assert "message.completed" in refused["message"]


@pytest.mark.rule("WebhookEndpoint.recent_deliveries", "Webhooks read", "Limits recent-deliveries")
def test_twenty_deliveries_are_shown_newest_first(hooks: Hooks, receivers: ReceiverMaker) -> None:
    endpoint = hooks.create(receivers().url)
    sent = [hooks.post(f"{endpoint['id']}/test")["id"] for _ in range(22)]
    assert [each["id"] for each in hooks.deliveries(endpoint)] == sent[:1:-1]


# --- receivers that misbehave ---------------------------------------------------------------------
@pytest.mark.rule(
    "Delivery.last_status_code", "Delivery.last_ms", "Limits receiver-timeout", "Webhook events 6"
)
@pytest.mark.parametrize(
    ("behave", "error", "least_ms"),
    [
        (drip, "no answer within 3 seconds", 3_000),
        (silent, "no answer within 3 seconds", 3_000),
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
def test_a_receiver_cannot_change_the_schedule(
    hooks: Hooks, caller: Caller, receivers: ReceiverMaker
) -> None:
    """Neither by Retry-After nor by saying that it is gone for good."""
    receiver = receivers()
    receiver.first = [410, 429]
    receiver.headers["Retry-After"] = "86400"
    endpoint = hooks.create(receiver.url)
    hooks.post(f"{endpoint['id']}/test")
    assert hooks.settled(endpoint, "delivered")["attempts"] == len(receiver.got) == 3
    assert caller.call("GET", f"/v1/webhooks/{endpoint['id']}").json()["disabled_at"] is None


# --- restarts and endings -------------------------------------------------------------------------
@pytest.mark.rule("Webhook events 7")
def test_a_delivery_on_its_way_at_a_crash_is_sent_again(
    start_server: ServerMaker, receivers: ReceiverMaker
) -> None:
    receiver: Receiver = receivers()
    receiver.held = threading.Event()
    own = start_server(egress_allow="127.0.0.1/32")
    caller = Caller(own)
    hooks = Hooks(caller)
    endpoint = hooks.create(receiver.url)
    message = caller.send("hello")
    receiver.await_count(1)
    own.kill()
    receiver.held.set()
    receiver.held = None
    own.start()
    first, second = receiver.await_count(2)[:2]
    assert first.id == second.id
    assert second.verified(endpoint["secret"])["data"]["id"] == message["id"]
    assert hooks.settled(endpoint, "delivered")["attempts"] == 1
    assert endpoint["secret"] not in own.log_file.read_text()


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
    own = start_server(
        egress_allow="127.0.0.1/32",
        webhook_retry_seconds="0.2",
        webhook_disable_seconds=1,
        sweep_seconds=0.05,
    )
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
