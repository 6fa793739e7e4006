"""Listing, cancelling and deleting messages over HTTP (design: Additions)."""

import json
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.links import without_links
from tests.waiting import PATIENCE, eventually

CallerMaker = Callable[..., Caller]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(turn_reply_seconds=30)


def list_page(caller: Caller, **query: Any) -> Json:
    answer = caller.call("GET", "/v1/messages", params=query)
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    return page


def ids(page: Json) -> list[str]:
    return [message["id"] for message in page["data"]]


def cancelled(caller: Caller, message: Json) -> Json:
    answer = caller.call("POST", f"/v1/messages/{message['id']}/cancel")
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


# --- listing --------------------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listMessages-1")
def test_messages_are_listed_newest_first_in_pages(
    server: AgentServer, callers: CallerMaker
) -> None:
    caller = callers(server, server.new_key("pages"))
    assert list_page(caller) == {"object": "list", "data": [], "has_more": False}
    sent = [caller.send(f"message {n}") for n in range(5)][::-1]
    page = list_page(caller)
    assert (ids(page), page["has_more"]) == ([message["id"] for message in sent], False)
    assert page["data"][0] == {**sent[0], "message": "message 4"}
    first = list_page(caller, limit=2)
    second = list_page(caller, limit=2, before=ids(first)[-1])
    third = list_page(caller, limit=2, before=ids(second)[-1])
    assert [each["has_more"] for each in (first, second, third)] == [True, True, False]
    assert [*ids(first), *ids(second), *ids(third)] == ids(page)
    caller.call("DELETE", f"/v1/messages/{sent[0]['id']}")
    assert ids(list_page(caller)) == ids(page)[1:]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listMessages-2")
def test_a_list_is_filtered(server: AgentServer, callers: CallerMaker) -> None:
    caller = callers(server, server.new_key("filters"))
    odd = {"order": 'é "1%_\\', "b": "2"}
    a = caller.send("a", conversation="shop", metadata=odd)
    b = caller.send([["ask", "Which?"]], conversation="shop", metadata={"order": 'b: "2"'})
    c = caller.send("c", metadata={"b": "2"})

    assert ids(list_page(caller, conversation="shop")) == [b["id"], a["id"]]
    assert ids(list_page(caller, conversation="nowhere")) == []
    assert ids(list_page(caller, status="needs_input")) == [b["id"]]
    assert ids(list_page(caller, conversation="shop", status="completed")) == [a["id"]]
    assert ids(list_page(caller, **{"metadata[b]": "2"})) == [c["id"], a["id"]]
    assert ids(list_page(caller, **{"metadata[order]": odd["order"]})) == [a["id"]]
    both = {"metadata[order]": odd["order"], "metadata[b]": "2"}
    assert ids(list_page(caller, **both)) == [a["id"]]
    assert ids(list_page(caller, **{"metadata[ORDER]": odd["order"]})) == []
    # As clients send it that were generated from the description.
    assert ids(list_page(caller, metadata="b=2")) == [c["id"], a["id"]]
    assert ids(list_page(caller, metadata=[f"order={odd['order']}", "b=2"])) == [a["id"]]
    assert ids(list_page(caller, **{"metadata": "b=2", "metadata[order]": odd["order"]})) == [
        a["id"]
    ]
    assert ids(list_page(caller, created_after=b["created_at"])) == [c["id"], b["id"]]
    assert ids(list_page(caller, created_before=b["created_at"])) == [a["id"]]
    for year in ("4253", "9999"):
        assert list_page(caller, created_after=f"{year}-12-31T23:59:59Z")["data"] == []
    between = {"created_after": b["created_at"], "created_before": c["created_at"]}
    assert ids(list_page(caller, **between)) == [b["id"]]


@pytest.mark.rule("Additions listMessages-2")
@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=51",
        "status=eaten",
        "created_after=yesterday",
        "created_before=2026-01-31T00:00:00",
        "conversation=%00",
        "metadata[a]=%00",
        "metadata[a]=1&metadata[a]=2",
        "metadata=a=1&metadata[a]=2",
        "metadata=a=%00",
        "metadata=order",
        "metadata==1042",
        "metadata=",
        'metadata={"order": "1042"}',
        "metadata={order=1042}",
        "status=",
        "created_after=",
        "before=a&before=b",
    ],
)
def test_what_a_list_refuses(caller: Caller, query: str) -> None:
    caller.refusal(400, "invalid_request", "GET", f"/v1/messages?{query}")


# --- cancelling -----------------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions cancelMessage-1", "Additions cancelMessage-2")
def test_jobs_that_run_are_stopped(caller: Caller, server: AgentServer) -> None:
    job = [["write", "a.txt", "x"], ["gate", "cancelled"], ["write", "b.txt", "x"]]
    other = caller.send([["start", "Other", [["gate", "other"]]]], conversation="other")
    message = caller.send([["start", "One", job], ["start", "Two", [["gate", "two"]]]])
    server.await_gate("cancelled")
    begun = caller.call("GET", "/v1/events").json()["cursor"]

    done = cancelled(caller, message)
    assert (done["status"], done["reason"], done["final"]) == ("failed", "stopped", True)
    states = [(job["status"], job["reason"]) for job in done["jobs"]]
    assert states == [("cancelled", "stopped")] * 2
    assert [file["name"] for file in done["files"]] == ["a.txt"]
    again = cancelled(caller, message)
    assert without_links(again) == without_links(done), "repeating it changes nothing"
    assert [entry["type"] for entry in caller.log(message["id"])][-2:] == ["state", "state"]
    events = caller.call("GET", f"/v1/events?cursor={begun}").json()["data"]
    assert [event["type"] for event in events] == ["job.failed", "job.failed", "message.failed"]
    assert caller.get(other["id"])["status"] == "processing"
    server.open_gate("other")
    assert caller.final(other["id"])["status"] == "completed"


@pytest.mark.rule("Additions cancelMessage-1", "Additions cancelMessage-3")
def test_a_turn_is_stopped_and_the_next_one_begins(caller: Caller, server: AgentServer) -> None:
    """Its POST is answered; one that waits behind it never runs when it is cancelled as well."""
    answers: dict[str, httpx2.Response] = {}

    def send(name: str, script: list[Any]) -> threading.Thread:
        def post() -> None:
            answers[name] = caller.post(script, conversation="turns", metadata={"name": name})

        thread = threading.Thread(target=post)
        thread.start()
        return thread

    def known(name: str) -> Json:
        found = eventually(
            lambda: list_page(caller, **{"metadata[name]": name})["data"], what=f"message {name}"
        )
        message: Json = found[0]
        return message

    threads = [send("running", [["gate", "turn"], ["reply", "late"]])]
    server.await_gate("turn")
    running = known("running")
    threads.append(send("waiting", [["reply", "never"]]))
    waiting = known("waiting")
    threads.append(send("next", [["reply", "It is my turn."]]))
    known("next")
    dropped, stopped = cancelled(caller, waiting), cancelled(caller, running)
    for thread in threads:
        thread.join(PATIENCE)
    for done in (dropped, stopped):
        assert (done["status"], done["reason"], done["final"]) == ("failed", "turn_failed", True)
        assert done["reply"] is None
        [entry] = caller.log(done["id"])
        assert (entry["type"], entry["reason"]) == ("turn_failed", "stopped")
    assert answers["running"].json()["status"] == "failed"
    assert answers["next"].json()["reply"] == "It is my turn."
    server.open_gate("turn")
    assert caller.get(running["id"]) == stopped


@pytest.mark.rule("Additions cancelMessage-2")
def test_a_final_message_stays_as_it_is(caller: Caller) -> None:
    message = caller.send("done")
    assert cancelled(caller, message) == message
    caller.refusal(404, "not_found", "POST", "/v1/messages/msg_0/cancel")


# --- deleting -------------------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions deleteMessage-1", "Additions deleteMessage-2")
def test_a_final_message_is_deleted_with_all_that_is_its_own(
    caller: Caller, server: AgentServer
) -> None:
    caller.call("GET", "/v1/events")
    script = json.dumps([["start", "Work", [["gate", "kept"], ["write", "a.txt", "x"]]]])
    inline = [{"name": "in.txt", "base64": "eA=="}]
    message = caller.post(script, key="deleted", files=inline).json()
    path = f"/v1/messages/{message['id']}"
    caller.refusal(409, "not_final", "DELETE", path)
    server.open_gate("kept")
    done = caller.final(message["id"])

    answer = caller.call("DELETE", path)
    assert answer.json() == {"object": "message", "id": message["id"], "deleted": True}
    for method, where in (("GET", ""), ("GET", "/events"), ("GET", "/stream"), ("DELETE", "")):
        caller.refusal(404, "not_found", method, f"{path}{where}")
    for table in ("entries", "events", "message_jobs", "attachments"):
        found = server.rows(f"SELECT * FROM {table} WHERE message_id = '{message['id']}'")
        assert found == [], table
    assert server.rows(f"SELECT id FROM messages WHERE id = '{message['id']}'") == []
    file = done["files"][0]
    assert caller.call("GET", f"/v1/files/{file['file_id']}").status_code == 200
    again = caller.post(script, key="deleted", files=inline)
    assert (again.status_code, again.json()["id"] != message["id"]) == (201, True)
    cancelled(caller, again.json())
