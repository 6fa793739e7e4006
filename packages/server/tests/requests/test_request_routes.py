"""The request log over HTTP (design: Reading the request log)."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import eventually

CallerMaker = Callable[..., Caller]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server()


@pytest.fixture(scope="module")
def reader(server: AgentServer) -> str:
    """A key of the account that may send and read, and no more."""
    create = ("keys", "create", "--account", "owner@localhost", "--name", "reader")
    made: str = server.command(*create, "--scopes", "send,read")["key"]
    return made


def page(caller: Caller, **query: Any) -> Json:
    answer = caller.call("GET", "/v1/requests", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def ask(caller: Caller, path: str) -> str:
    """Ask for something; the id of the request once it is in the log."""
    request_id = caller.call("GET", path).headers["Request-Id"]
    eventually(lambda: caller.http.get(f"/v1/requests/{request_id}").status_code == 200)
    return request_id


def paths(found: Json) -> list[str]:
    return [each["path"] for each in found["data"]]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listRequests-1", "Additions getRequest")
def test_requests_are_listed_newest_first_and_read_with_their_bodies(caller: Caller) -> None:
    sent = caller.post("What is in it?")
    last = ask(caller, "/v1/work?first")
    newest, older = page(caller, limit=1), page(caller, limit=1, before=last)
    [line], [message] = newest["data"], older["data"]
    while line["id"] != last:  # what the test itself asked meanwhile
        newest = page(caller, limit=1, before=line["id"])
        [line] = newest["data"]
    assert newest["has_more"] is True
    me = caller.http.get("/v1/me").json()["key"]
    assert (line["object"], line["method"], line["path"]) == ("request", "GET", "/v1/work?first")
    assert (line["status"], line["error"], line["key_id"]) == (200, None, me["id"])
    assert line["key_name"] == me["name"]
    assert "response_body" not in line
    assert message["id"] == sent.headers["Request-Id"]

    whole = caller.call("GET", f"/v1/requests/{message['id']}").json()
    assert {name: whole[name] for name in message} == message
    assert json.loads(whole["request_body"]) == {"message": "What is in it?"}
    assert json.loads(whole["response_body"])["id"] == sent.json()["id"]
    caller.refusal(404, "not_found", "GET", f"/v1/requests/req_{'0' * 32}")


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listRequests-2")
def test_a_list_is_filtered(caller: Caller) -> None:
    first = caller.refusal(404, "not_found", "GET", "/v1/messages/msg_filtered")["request_id"]
    last = ask(caller, "/v1/work?filtered=1_!")

    def found(path: str = "FILTERED", **query: str) -> list[str]:
        """Without the test's own reads of the log, which hold the word as well."""
        lines = page(caller, path=path, **query)["data"]
        return [each["path"] for each in lines if each["id"] in (first, last)]

    failed, well = "/v1/messages/msg_filtered", "/v1/work?filtered=1_!"
    assert found() == [well, failed]
    assert found("filtered=1_!") == [well]
    assert found("f_ltered") == found("f%d") == [], "signs stand for themselves"
    for query in ({"status": "404"}, {"status": "4xx"}, {"status": "failed"}):
        assert found(**query) == [failed]
    assert found(error="not_found") == [failed]
    assert page(caller, path="FILTERED", method="POST")["data"] == []
    came = caller.call("GET", f"/v1/requests/{last}").json()["created_at"]
    assert found(created_after=came) == [well]
    assert found(created_before=came) == [failed]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listRequests-3")
def test_requests_are_waited_for(caller: Caller, server: AgentServer) -> None:
    """Also one that came before others and ended after them; reads of the log are no news."""
    message = caller.send([["start", "Work", [["gate", "held"]]]], conversation="held")
    cursor = page(caller, limit=1)["cursor"]
    asked_at = threading.Event()

    def hold() -> None:
        asked_at.set()
        caller.get(message["id"], wait=45)

    holding = threading.Thread(target=hold)
    holding.start()
    asked_at.wait()
    caller.call("GET", "/v1/work?quick")
    found: list[str] = []
    while not any("wait=45" in path for path in found):
        following = page(caller, cursor=cursor, wait=45)
        assert following["data"] or following["has_more"]
        found += paths(following)
        cursor = following["cursor"]
        if any("quick" in path for path in found):
            server.open_gate("held")
    holding.join()
    mine = [path for path in found if "quick" in path or "wait=45" in path]
    assert mine == ["/v1/work?quick", f"/v1/messages/{message['id']}?wait=45"]
    assert [path for path in found if path.startswith("/v1/requests")] == []
    empty = page(caller, cursor=cursor, path="nobody asked for this")
    assert (empty["data"], empty["has_more"]) == ([], False)
    caller.call("POST", f"/v1/messages/{message['id']}/cancel")


@pytest.mark.rule("Additions listRequests-4", "Additions getRequest")
def test_a_key_reads_its_own_requests_and_those_of_others_only_with_the_scope(
    server: AgentServer, caller: Caller, callers: CallerMaker, reader: str
) -> None:
    other = callers(server, reader)
    stranger = callers(server, server.new_key("stranger"))
    create = ("keys", "create", "--account", "stranger@example.com", "--name", "spy")
    spy = callers(server, server.command(*create, "--scopes", "read,read_all")["key"])
    begin = page(spy, limit=1)["cursor"]
    admins = ask(caller, "/v1/work?mine=of-the-admin")
    theirs = ask(other, "/v1/work?mine=of-the-reader")
    assert paths(page(other, path="mine=")) == ["/v1/work?mine=of-the-reader"]
    assert paths(page(caller, path="mine=")) == ["/v1/work?mine=of-the-admin"]
    caller.refusal(404, "not_found", "GET", f"/v1/requests/{theirs}")
    overseer = callers(server, server.another_key("overseer", "read,read_all"))
    both = page(overseer, path="mine=")["data"]
    assert [(each["id"], each["key_name"]) for each in both] == [
        (theirs, "reader"),
        (admins, "default"),
    ]
    key_of_the_admin = both[1]["key_id"]
    assert overseer.call("GET", f"/v1/requests/{theirs}").status_code == 200
    assert paths(page(overseer, path="mine=", key=key_of_the_admin)) == [
        "/v1/work?mine=of-the-admin"
    ]
    other.refusal(404, "not_found", "GET", f"/v1/requests/{admins}")
    refused = other.refusal(403, "forbidden", "GET", f"/v1/requests?key={key_of_the_admin}")
    assert "'read_all'" in refused["message"]
    assert page(stranger, path="mine=")["data"] == []
    assert page(spy, cursor=begin, path="mine=")["data"] == []
    stranger.refusal(404, "not_found", "GET", f"/v1/requests/{theirs}")


def test_a_key_made_while_a_call_waits_has_its_name(
    server: AgentServer, callers: CallerMaker
) -> None:
    overseer = callers(server, server.another_key("overseer of waits", "read,read_all"))
    cursor = page(overseer, limit=1)["cursor"]
    found: list[str | None] = []

    def wait() -> None:
        following = page(overseer, cursor=cursor, wait=45, path="made-meanwhile")
        found.extend(each["key_name"] for each in following["data"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    callers(server, server.another_key("latecomer")).call("GET", "/v1/work?made-meanwhile")
    waiting.join()
    assert found == ["latecomer"]


@pytest.mark.rule("Additions listRequests-2")
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=often", "status"),
        ("method=EAT", "method"),
        ("limit=101", "limit"),
        ("wait=46", "wait"),
        ("created_after=yesterday", "created_after"),
        ("cursor=x&before=req_0", "before"),
    ],
)
def test_what_a_list_refuses(caller: Caller, query: str, field: str) -> None:
    refused = caller.refusal(400, "invalid_request", "GET", f"/v1/requests?{query}")
    assert [problem["field"] for problem in refused["problems"]] == [field]
