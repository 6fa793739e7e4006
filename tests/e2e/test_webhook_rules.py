"""The numbered rules of webhook events, walked through at a running server."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import Delivery, Receiver, ReceiverMaker
from tests.e2e.server import AgentServer
from tests.waiting import eventually

SIGNED = re.compile(rb"\?exp=[0-9]+&rev=[^&\"]*&sig=[^\"]*")
WORK: list[Any] = [
    "start",
    "Work",
    [["write", "a é.txt", "x"], ["charge", 1], ["return", "Done."]],
]


SETTINGS = {
    "egress_allow": "127.0.0.1/32",
    "webhook_retry_seconds": "0.3",
    "sweep_seconds": 0.05,
    "turn_reply_seconds": 30,
    "busy_wait_seconds": 0.3,
    "bootstrap_credits": 0,
}


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

    found = eventually(look, what=name)
    assert found is not None
    return found


@pytest.mark.rule(
    "What the service does 3",
    "Webhook events job.blocked",
    "Webhook events job.resumed",
    "Webhook events message.blocked",
    "Webhook events message.completed",
    "Webhook events 1",
    "Webhook events 2",
)
def test_each_status_reached_is_reported_as_a_read_shows_it(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    """Rules 1 and 2: blocked, then completed; byte for byte what a read answered at that time."""
    receiver = receivers()
    endpoint = hooks.create(receiver.url)
    secret = endpoint["secret"]
    message = caller.send([WORK], metadata={"ü": '"\\'})
    blocked = delivery_of(receiver, secret, "message.blocked")
    assert data_of(blocked) == read(caller, message)
    assert blocked.verified(secret)["data"]["final"] is False
    account = caller.call("GET", "/v1/me").json()["email"]
    server.command("credits", "add", account, "5")
    completed = delivery_of(receiver, secret, "message.completed")
    assert data_of(completed) == read(caller, message)
    assert completed.verified(secret)["data"]["final"] is True
    delivery_of(receiver, secret, "job.completed")
    reported = [event["type"] for event in receiver.events(secret)]
    assert sorted(reported) == [
        "job.blocked",
        "job.completed",
        "job.resumed",
        "message.blocked",
        "message.completed",
    ]
    assert len({delivery.id for delivery in receiver.got}) == 5
    for event in receiver.events(secret):
        assert set(event) == {"type", "timestamp", "data"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["timestamp"])


@pytest.mark.rule(
    "Webhook events job.failed",
    "Webhook events message.partial",
    "Webhook events message.failed",
    "Webhook events message.needs_input",
)
@pytest.mark.parametrize(
    ("script", "names"),
    [
        ([["ask", "Which?"]], ["message.needs_input"]),
        ([["leak", "error"]], ["message.failed"]),
        (
            [["start", "A", [["broken_step"]]], ["start", "B", [["return", "b"]]]],
            ["job.completed", "job.failed", "message.partial"],
        ),
        ([["start", "A", [["broken_step"]]]], ["job.failed", "message.failed"]),
    ],
)
def test_every_ending_has_its_event(
    hooks: Hooks,
    caller: Caller,
    receivers: ReceiverMaker,
    server: AgentServer,
    script: list[list[Any]],
    names: list[str],
) -> None:
    server.command("credits", "add", caller.call("GET", "/v1/me").json()["email"], "5")
    receiver = receivers()
    endpoint = hooks.create(receiver.url)
    message = caller.send(script)
    receiver.await_count(len(names))
    final = delivery_of(receiver, endpoint["secret"], names[-1])
    assert data_of(final) == read(caller, message)
    assert sorted(e["type"] for e in receiver.events(endpoint["secret"])) == names


@pytest.mark.rule("Webhook events 1")
def test_a_busy_message_is_reported_each_time_it_runs(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    """Rule 1: failed (busy), then completed under the same id."""
    receiver = receivers()
    endpoint = hooks.create(receiver.url, events=["message.failed", "message.completed"])
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(caller.send, [["gate", "busy"]])
        server.await_gate("busy")
        other = Caller(server)
        busy = other.post("hello", key="k1").json()
        assert busy["reason"] == "agent_busy"
        failed = delivery_of(receiver, endpoint["secret"], "message.failed")
        assert data_of(failed) == read(other, busy)
        server.open_gate("busy")
        first.result()
    again = other.post("hello", key="k1").json()
    assert (again["id"], again["status"]) == (busy["id"], "completed")
    receiver.await_count(3)
    reported = [(e["type"], e["data"]["id"]) for e in receiver.events(endpoint["secret"])]
    assert reported.count(("message.failed", busy["id"])) == 1
    assert reported.count(("message.completed", busy["id"])) == 1


@pytest.mark.rule("Additions attempt_log")
def test_a_delivery_shows_each_of_its_attempts(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    receiver = receivers()
    receiver.first = [503]
    endpoint = hooks.create(receiver.url)
    message = caller.send("hello")
    delivered = hooks.settled(endpoint, "delivered")
    page = caller.call("GET", f"/v1/webhooks/{endpoint['id']}/deliveries").json()
    (listed,) = page["data"]
    log = listed.pop("attempt_log")
    assert listed == delivered
    codes = [503] * (delivered["attempts"] - 1) + [200]
    assert codes[0] == 503
    assert [each["status_code"] for each in log] == codes
    assert {each["response"] for each in log} == {"ok"}
    assert [each["error"] for each in log] == [
        None if code == 200 else "it answered with HTTP status 503" for code in codes
    ]
    times = [each["at"] for each in log]
    assert times == sorted(times)
    assert times[-1] == delivered["delivered_at"]
    assert log[-1]["ms"] == delivered["last_ms"]

    hooks.post(f"{endpoint['id']}/deliveries/{delivered['id']}/redeliver")
    again = hooks.settled(endpoint, "delivered", attempts=1)
    page = caller.call("GET", f"/v1/webhooks/{endpoint['id']}/deliveries").json()
    *before, last = page["data"][0]["attempt_log"]
    assert before == log
    assert last["at"] == again["delivered_at"]

    story = server.command("explain", message["id"])["story"]
    reported = [line for line in story if line["source"] == "attempt"]
    assert [line["facts"]["code"] for line in reported] == [*codes, 200]
    assert (reported[0]["what"], reported[-1]["what"]) == ("failed", "succeeded")


@pytest.mark.rule("Webhook events 3")
def test_a_removed_endpoint_that_a_message_named_gives_its_events_to_nobody(
    hooks: Hooks, caller: Caller, server: AgentServer, receivers: ReceiverMaker
) -> None:
    """Rule 3: only that endpoint receives them."""
    server.command("credits", "add", caller.call("GET", "/v1/me").json()["email"], "5")
    chosen, others = receivers(), receivers()
    endpoint, other = hooks.create(chosen.url), hooks.create(others.url)
    script = [["start", "A", [["gate", "removed"], ["return", "x"]]]]
    message = caller.send(script, webhook_endpoint_id=endpoint["id"])
    caller.call("DELETE", f"/v1/webhooks/{endpoint['id']}")
    assert caller.call("DELETE", f"/v1/webhooks/{endpoint['id']}").status_code == 404
    server.open_gate("removed")
    caller.final(message["id"])
    hooks.post(f"{other['id']}/test")
    (only,) = others.await_count(1)
    assert json.loads(only.body)["type"] == "webhook.test"
    assert chosen.got == []
