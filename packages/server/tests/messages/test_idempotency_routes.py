"""The Idempotency-Key (spec: createMessage 1-2; design: Idempotency)."""

import base64
import json
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.raw import connect, head, raw
from tests.e2e.server import AgentServer
from tests.waiting import eventually


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(busy_wait_seconds=0.5, turn_reply_seconds=30)


def is_replay(answer: httpx2.Response) -> bool:
    return answer.status_code == 200 and answer.headers.get("Idempotent-Replayed") == "true"


@pytest.mark.rule("createMessage.answers", "Errors success", "Additions Idempotent-Replayed")
def test_the_same_key_and_body_answer_with_the_message_as_it_is(caller: Caller) -> None:
    first = caller.post("once", key="same")
    again = caller.post("  once ", key="same")

    assert first.status_code == 201
    assert "Idempotent-Replayed" not in first.headers
    assert is_replay(again)
    assert again.json() == first.json()
    assert again.headers["ETag"] == first.headers["ETag"]


def test_a_repeat_may_differ_outside_the_body(caller: Caller) -> None:
    first = caller.post("loose", key="loose", metadata={"a": "b"}, conversation="x")
    again = caller.post("loose", key="loose", conversation="y", y=1)
    assert is_replay(again)
    assert again.json()["metadata"] == first.json()["metadata"] == {"a": "b"}


@pytest.mark.rule("Errors idempotency_conflict")
def test_the_same_key_with_another_body_is_a_conflict(caller: Caller) -> None:
    headers = {"Idempotency-Key": "conflict"}
    first = caller.call("POST", "/v1/messages", json={"message": "a"}, headers=headers)
    other = {"message": "A"}
    caller.refusal(409, "idempotency_conflict", "POST", "/v1/messages", json=other, headers=headers)
    assert caller.get(first.json()["id"]) == first.json(), "nothing was sent to the agent"


def test_files_and_the_trimmed_text_are_what_is_compared(caller: Caller) -> None:
    files = [{"name": "a.txt", "base64": base64.b64encode(b"one").decode()}]
    assert caller.post("\u2003space\n", key="files", files=files).status_code == 201
    assert is_replay(caller.post("space", key="files", files=files))
    files[0]["base64"] = base64.b64encode(b"two").decode()
    assert caller.post("space", key="files", files=files).status_code == 409


@pytest.mark.rule("createMessage 1", "Retry safety 3")
def test_without_a_key_or_with_an_empty_one_every_call_is_new(caller: Caller) -> None:
    ids = [caller.post("new", key=key).json()["id"] for key in (None, None, "", "")]
    assert len(set(ids)) == 4


@pytest.mark.rule("createMessage.Idempotency-Key", "Limits idempotency-key")
def test_only_the_first_128_characters_of_a_key_count(caller: Caller) -> None:
    first = caller.post("long", key="k" * 128)
    assert is_replay(caller.post("long", key="k" * 128 + "tail"))
    assert caller.post("long", key="k" * 127).status_code == 201
    assert caller.post("other", key="k" * 129).status_code == 409
    assert caller.get(first.json()["id"])["reply"] == "You said: long"


def test_blanks_around_a_key_do_not_count(caller: Caller, server: AgentServer) -> None:
    """A header's value has none, whether or not whoever passes it on has dropped them."""
    first = caller.post("blank", key="blank")
    body = b'{"message": "blank"}'
    for key in ("  blank", "blank  ", "\tblank \t"):
        headers = (f"Idempotency-Key:{key}", f"Content-Length: {len(body)}")
        answer = raw(server, head("POST", "/v1/messages", *headers) + body)
        assert (answer.status, answer.body["id"]) == (200, first.json()["id"])


@pytest.mark.parametrize("second", ["twice", "other", ""])
def test_two_keys_are_refused(caller: Caller, second: str) -> None:
    """Whichever we took, a client could mean the other, and start its work twice."""
    headers = [("Idempotency-Key", "twice"), ("Idempotency-Key", second)]
    problems = caller.refusal(
        400, "invalid_request", "POST", "/v1/messages", json={"message": "x"}, headers=headers
    )["problems"]
    assert [problem["field"] for problem in problems] == ["Idempotency-Key"]


def test_keys_belong_to_the_api_key(caller: Caller, server: AgentServer) -> None:
    made = server.command("keys", "create", "--account", "owner@localhost", "--name", "second")
    other = Caller(server, made["key"])
    mine, theirs = caller.post("scope", key="scope"), other.post("different", key="scope")
    other.close()
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["id"] != theirs.json()["id"]


def test_a_refused_call_leaves_the_key_free(caller: Caller) -> None:
    for body in ({}, {"message": 5}, {"message": "x", "upload_ids": ["up_1"]}):
        answer = caller.call("POST", "/v1/messages", json=body, headers={"Idempotency-Key": "free"})
        assert answer.status_code in (400, 409)
    unknown = caller.post("x", key="free", webhook_endpoint_id="whe_0")
    assert unknown.status_code == 404
    assert caller.post("x", key="free").status_code == 201


@pytest.mark.rule("createMessage 2")
def test_a_replay_is_answered_while_the_first_call_still_runs(
    caller: Caller, server: AgentServer
) -> None:
    script = [["gate", "replay"], ["reply", "done"]]
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(caller.post, script, "running")
        server.await_gate("replay")
        again = caller.post(script, key="running")
        assert is_replay(again)
        assert again.json()["status"] == "processing"
        assert caller.post("other", key="running").status_code == 409
        server.open_gate("replay")
        assert first.result().json()["id"] == again.json()["id"]
    assert first.result().json()["reply"] == "done"


def test_a_client_that_hangs_up_loses_nothing(caller: Caller, server: AgentServer) -> None:
    script = [["gate", "hangs-up"], ["reply", "done"]]
    body = json.dumps({"message": json.dumps(script)}).encode()
    connection = connect(server)
    headers = ("Idempotency-Key: hangs-up", f"Content-Length: {len(body)}")
    connection.sendall(head("POST", "/v1/messages", *headers) + body)
    server.await_gate("hangs-up")
    connection.close()
    server.open_gate("hangs-up")

    again = caller.post(script, key="hangs-up")
    assert is_replay(again)
    assert caller.final(again.json()["id"])["reply"] == "done"


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Retry safety 3")
def test_fifty_equal_calls_at_once_make_one_message(caller: Caller, server: AgentServer) -> None:
    start = threading.Barrier(50)

    def post(_: int) -> httpx2.Response:
        start.wait()
        return caller.post([["step", "fifty"], ["reply", "ok"]], key="fifty")

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(post, range(50)))

    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 49}
    assert len({answer.json()["id"] for answer in answers}) == 1
    message = caller.final(answers[0].json()["id"])
    assert message["reply"] == "ok"
    assert len([line for line in server.trace() if line.startswith("fifty ")]) == 1


@pytest.mark.databases("sqlite", "postgres")
def test_fifty_different_calls_with_one_key_make_one_message(caller: Caller) -> None:
    start = threading.Barrier(50)

    def post(n: int) -> httpx2.Response:
        start.wait()
        return caller.post(f"variant {n % 2}", key="variants")

    with ThreadPoolExecutor(50) as pool:
        statuses = Counter(answer.status_code for answer in pool.map(post, range(50)))
    assert statuses == {201: 1, 200: 24, 409: 25}


@pytest.mark.databases("sqlite", "postgres")
def test_a_key_is_free_again_after_its_time(start_server: ServerMaker) -> None:
    server = start_server(idempotency_seconds=0.5)
    caller = Caller(server)
    first = caller.post("one", key="short")

    def other() -> httpx2.Response | None:
        answer = caller.post("two", key="short")
        return answer if answer.status_code == 201 else None

    second = eventually(other, what="a free key")
    assert second is not None
    assert second.json()["id"] != first.json()["id"]
    assert caller.get(first.json()["id"])["reply"] == "You said: one"
    caller.close()


@pytest.mark.rule("Message.id")
def test_a_key_never_becomes_an_id(caller: Caller) -> None:
    key = f"msg_{'0' * 32}"
    message = caller.post("whose id?", key=key).json()
    assert message["id"] != key
    assert re.fullmatch("msg_[0-9a-f]{32}", message["id"])
    caller.refusal(404, "not_found", "GET", f"/v1/messages/{key}")
