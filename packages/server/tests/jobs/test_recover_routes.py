"""Recover and deleted works over HTTP (spec: recoverMessage; design: Expiry and recover;
Additions).
"""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer


@pytest.fixture(scope="module")
def hasty(start_server: ServerMaker) -> AgentServer:
    """Work is watched for less than a second: only for work that is to expire, since any may."""
    return start_server(watch_seconds=0.4, sweep_seconds=0.05)


def recover(caller: Caller, message_id: str) -> list[str]:
    """The states of the message's works."""
    answer = caller.call("POST", f"/v1/messages/{message_id}/recover")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["object"], body["id"]) == ("recovery", message_id)
    return [work["state"] for work in body["work"]]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "Recovery.id",
    "Recovery.object",
    "Recovery.state",
    "Retry safety 2",
    "Transitions 10",
    "recoverMessage.rearms",
    "recoverMessage.repeat",
)
def test_expired_work_goes_on_and_its_result_arrives(
    hasty: AgentServer, callers: Callable[..., Caller]
) -> None:
    caller = callers(hasty)
    script = [["gate", "late"], ["write", "late.txt", "late"], ["return", "late, but there"]]
    message = caller.send([["start", "w", script]])
    expired = caller.until_message(message["id"], status="expired")
    assert (expired["final"], expired["reason"]) == (True, "watch_expired")

    assert recover(caller, message["id"]) == ["recovering"]
    assert caller.get(message["id"])["jobs"][0]["status"] == "running"
    caller.until_message(message["id"], status="expired")
    hasty.open_gate("late")
    done = None
    while done != "completed":  # the result is there with this recover or one of the next
        recover(caller, message["id"])
        done = caller.get(message["id"])["status"]
    assert recover(caller, message["id"]) == ["settled"]
    final = caller.final(message["id"])
    assert [file["name"] for file in final["files"]] == ["late.txt"]
    log = caller.log(message["id"])
    assert kinds(log)[-1] == "result"
    assert log[-1]["text"] == "late, but there"


@pytest.mark.rule("recoverMessage.rearms")
def test_a_plain_answer_has_nothing_to_recover(caller: Caller) -> None:
    message = caller.send("hello")
    assert recover(caller, message["id"]) == []
    assert caller.get(message["id"])["version"] == message["version"]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Errors not_found", "Additions deleteWork")
def test_a_deleted_work_is_nowhere_any_more(caller: Caller) -> None:
    message = caller.send([["start", "w", [["write", "a.txt", "text"], ["return", "done"]]]])
    final = caller.until_message(message["id"], status="completed")
    work_id, file = final["jobs"][0]["work_id"], final["files"][0]
    link = urlsplit(file["url"])
    download = f"{link.path}?{link.query}"
    assert caller.http.get(download).text == "text"

    answer = caller.call("DELETE", f"/v1/work/{work_id}")
    assert answer.json() == {"object": "work", "work_id": work_id, "deleted": True}
    caller.refusal(404, "not_found", "GET", f"/v1/work/{work_id}")
    caller.refusal(404, "not_found", "GET", f"/v1/files/{file['file_id']}")
    caller.refusal(404, "not_found", "POST", f"/v1/work/{work_id}/stop")
    caller.refusal(404, "not_found", "DELETE", f"/v1/work/{work_id}")
    assert caller.http.get(download).status_code == 404
    listed = caller.call("GET", "/v1/work").json()["data"]
    assert work_id not in [work["work_id"] for work in listed]
    assert caller.get(message["id"])["status"] == "completed"


@pytest.mark.rule("Additions deleteWork")
def test_jobs_in_a_deleted_work_are_stopped_first(caller: Caller) -> None:
    message = caller.send([["start", "w", [["gate", "never"]]]])
    caller.call("DELETE", f"/v1/work/{message['jobs'][0]['work_id']}")
    stopped = caller.final(message["id"])
    assert (stopped["status"], stopped["reason"]) == ("failed", "stopped")
    assert stopped["jobs"][0]["status"] == "cancelled"


def test_replies_get_a_new_home_when_theirs_was_deleted(caller: Caller) -> None:
    script = [["write", "a.txt", "first"], ["reply", "one"]]
    first = caller.send(script, conversation="home")["files"][0]
    caller.call("DELETE", f"/v1/work/{first['work_id']}")
    second = caller.send(script, conversation="home")["files"][0]
    assert second["work_id"] != first["work_id"]
    assert caller.call("GET", f"/v1/files/{second['file_id']}").status_code == 200


@pytest.mark.rule("Additions traceparent")
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", True),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", False),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        ("nonsense", False),
    ],
)
def test_a_trace_context_is_kept_when_it_is_one(caller: Caller, sent: str, kept: bool) -> None:
    answer = caller.call(
        "POST", "/v1/messages", json={"message": "hi"}, headers={"traceparent": sent}
    )
    message = caller.get(answer.json()["id"])
    assert message.get("traceparent") == (sent if kept else None)
