"""The events of an account over HTTP, polled and streamed (design: Reading an account's events)."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.receivers import receiving
from tests.e2e.server import AgentServer
from tests.e2e.sse import ACCEPT, stream
from tests.waiting import PATIENCE

CallerMaker = Callable[..., Caller]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(egress_allow="127.0.0.1/32")


def read(caller: Caller, cursor: str = "", **query: Any) -> Json:
    """A page of events."""
    asked = {"cursor": cursor, **query} if cursor else query
    answer = caller.call("GET", "/v1/events", params=asked)
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    return page


def names(page: Json) -> list[str]:
    return [event["type"] for event in page["data"]]


# --- polled ---------------------------------------------------------------------------------------
@pytest.mark.rule(
    "Additions listEvents-1",
    "Additions listEvents-2",
    "Additions listEvents-3",
    "Additions Message.conversation",
    "Additions Job.text",
)
def test_an_account_is_read_without_an_endpoint(caller: Caller) -> None:
    """From the first call on; each event once, as a webhook has it."""
    begun = read(caller)
    assert (begun["object"], begun["data"], begun["has_more"]) == ("list", [], False)
    message = caller.send([["start", "Work", [["return", "Made."]]]], conversation="shop")
    done = caller.final(message["id"])

    page = read(caller, begun["cursor"])
    assert names(page) == ["job.completed", "message.completed"]
    job, finished = page["data"]
    assert job["data"]["message_id"] == message["id"]
    assert job["data"]["text"] == "Made."
    assert finished["id"].startswith("evt_")
    assert finished["data"] == done
    assert finished["data"]["conversation"] == "shop"
    assert read(caller, page["cursor"])["data"] == []
    assert read(caller, begun["cursor"])["data"] == page["data"], "any number of readers may read"


@pytest.mark.rule("Additions listEvents-1")
def test_a_webhook_has_the_same_ids_and_bodies(caller: Caller) -> None:
    cursor = read(caller)["cursor"]
    with receiving() as receiver:
        made = caller.call("POST", "/v1/webhooks", json={"url": receiver.url}).json()
        caller.send("hello")
        caller.send("told to this endpoint alone", webhook_endpoint_id=made["id"])
        deliveries = receiver.await_count(2)
        caller.call("DELETE", f"/v1/webhooks/{made['id']}")
    sent = {each.id: each.verified(made["secret"]) for each in deliveries}
    read_ = {event.pop("id"): event for event in read(caller, cursor)["data"]}
    assert read_ == sent


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listEvents-2")
def test_a_page_is_limited_and_the_next_one_continues(caller: Caller) -> None:
    cursor = read(caller)["cursor"]
    sent = [caller.send(f"message {n}")["id"] for n in range(5)]
    found: list[str] = []
    for count, more in ((2, True), (2, True), (1, False)):
        page = read(caller, cursor, limit=2)
        cursor = page["cursor"]
        found += [event["data"]["id"] for event in page["data"]]
        assert (len(page["data"]), page["has_more"]) == (count, more)
    assert found == sent


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listEvents-4")
def test_filters_by_type_and_conversation(caller: Caller) -> None:
    cursor = read(caller)["cursor"]
    mine = caller.send([["start", "A", [["return", ""]]]], conversation="mine")
    caller.final(mine["id"])
    other = caller.send("x", conversation="other")
    caller.send("none")

    assert names(read(caller, cursor, conversation="mine")) == [
        "job.completed",
        "message.completed",
    ]
    of_jobs = read(caller, cursor, types="job.completed, job.failed")
    assert names(of_jobs) == ["job.completed"]
    both = read(caller, cursor, types="message.completed", conversation="other")
    assert [event["data"]["id"] for event in both["data"]] == [other["id"]]
    assert read(caller, of_jobs["cursor"])["data"] == [], "what was passed over is behind it"


@pytest.mark.rule("Additions listEvents-2")
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"cursor": "mine"}, "bad_cursor"),
        ({"types": "message.eaten"}, "invalid_request"),
        ({"limit": "0"}, "invalid_request"),
        ({"limit": "101"}, "invalid_request"),
        ({"wait": "46"}, "invalid_request"),
        ({"conversation": "\0"}, "invalid_request"),
    ],
)
def test_what_is_refused(caller: Caller, query: dict[str, str], code: str) -> None:
    caller.refusal(400, code, "GET", "/v1/events", params=query)
    if "cursor" in query:
        caller.refusal(400, code, "GET", "/v1/events", headers={**ACCEPT, "Last-Event-ID": "mine"})


@pytest.mark.rule("Additions listEvents-2")
def test_a_cursor_is_the_accounts(
    caller: Caller, server: AgentServer, callers: CallerMaker
) -> None:
    """Another key of it may continue, and gets its own events; with the scope, those of all. That
    of a message's log is none."""
    cursor = read(caller)["cursor"]
    sent = caller.send("by the first key")
    second = callers(server, server.another_key("second"))
    own = second.send("by the second key")
    overseer = callers(server, server.another_key("overseer", "read,read_all"))
    for reader, messages in ((caller, [sent]), (second, [own]), (overseer, [sent, own])):
        ids = [message["id"] for message in messages]
        assert [e["data"]["id"] for e in read(reader, cursor)["data"]] == ids
        with stream(reader, "/v1/events", cursor) as open_:
            assert [e.data["data"]["id"] for e in open_.take(len(ids))] == ids
    overseer.refusal(404, "not_found", "GET", f"/v1/messages/{sent['id']}")
    second.refusal(404, "not_found", "GET", f"/v1/messages/{sent['id']}")
    stranger = callers(server, server.new_key("stranger-of-events"))
    stranger.refusal(400, "bad_cursor", "GET", "/v1/events", params={"cursor": cursor})
    log = caller.events(sent["id"])["cursor"]
    caller.refusal(400, "bad_cursor", "GET", "/v1/events", params={"cursor": log})
    caller.refusal(400, "bad_cursor", "GET", f"/v1/messages/{sent['id']}/events?cursor={cursor}")


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listEvents-5")
def test_an_empty_page_is_held_until_there_is_an_event(caller: Caller, server: AgentServer) -> None:
    cursor = read(caller)["cursor"]
    began = time.monotonic()
    assert read(caller, cursor)["data"] == []
    assert time.monotonic() - began >= 1
    found: list[Json] = []
    held = threading.Thread(target=lambda: found.append(read(caller, cursor, wait=45)))
    held.start()
    message = caller.send([["start", "Held", [["gate", "held"], ["return", ""]]]])
    server.await_gate("held")
    server.open_gate("held")
    held.join(PATIENCE)
    assert found[0]["data"][0]["data"]["message_id"] == message["id"]


@pytest.mark.rule("Additions listEvents-3")
def test_nothing_is_kept_for_accounts_that_nobody_reads(
    server: AgentServer, callers: CallerMaker
) -> None:
    quiet = callers(server, server.new_key("quiet"))
    sent = quiet.send("not read")
    assert server.rows(f"SELECT id FROM events WHERE message_id = '{sent['id']}'") == []


# --- streamed -------------------------------------------------------------------------------------
@pytest.mark.rule("Additions listEvents-6")
def test_a_stream_has_the_events_as_they_come_and_resumes(caller: Caller) -> None:
    with stream(caller, "/v1/events?types=message.completed") as open_:
        open_.begin()
        assert open_.retry
        first = caller.send("first")
        event = next(open_)
        assert (event.name, event.data["data"]["id"]) == ("message.completed", first["id"])
    missed = [caller.send(f"missed {n}")["id"] for n in range(3)]
    with stream(caller, "/v1/events?types=message.completed", event.id) as again:
        assert [each.data["data"]["id"] for each in again.take(3)] == missed
        last = caller.send("last")
        assert next(again).data["data"]["id"] == last["id"]
    page = read(caller, event.id)
    assert [each["data"]["id"] for each in page["data"]] == [*missed, last["id"]]


@pytest.mark.rule("Additions listEvents-6")
def test_a_stream_tells_its_place_before_the_first_event(caller: Caller) -> None:
    with stream(caller, "/v1/events") as open_:
        place = open_.begin().id
    sent = caller.send("while nobody was connected")
    with stream(caller, "/v1/events", place) as again:
        assert next(again).data["data"]["id"] == sent["id"]
