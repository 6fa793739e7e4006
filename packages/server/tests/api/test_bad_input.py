"""Wrong bodies and queries: refused by name, quickly, with nothing changed (design: Input)."""

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.raw import RawAnswer, head, raw
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT

BODY_MAX = 1_000_000
SETTINGS = {"body_bytes_max": BODY_MAX}


@pytest.fixture(autouse=True)
def unchanged(server: AgentServer) -> Iterator[None]:
    """Nothing a test here sends becomes a message, a file, a conversation or a key."""
    before = count_rows(server)
    yield
    assert count_rows(server) == before


def count_rows(server: AgentServer) -> dict[str, int]:
    found = {
        table: server.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"]
        for table in ("messages", "conversations", "attachments", "jobs", "works")
    }
    blobs = server.home / "data" / "blobs"
    found["blobs"] = sum(1 for path in blobs.rglob("*") if path.is_file())
    return found


def post(server: AgentServer, body: bytes, *headers: str) -> RawAnswer:
    began = time.monotonic()
    length = f"Content-Length: {len(body)}"
    answer = raw(server, head("POST", "/v1/messages", length, *headers) + body)
    assert time.monotonic() - began < PROMPT
    assert answer.body["request_id"] == answer.headers["request-id"]
    assert answer.headers["content-type"] == "application/json"
    return answer


def refusal(server: AgentServer, body: object, *headers: str) -> tuple[int, str, list[Any]]:
    """(status, code, fields named) of a body that is to be refused."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = post(server, data, *headers)
    fields = [problem["field"] for problem in answer.body.get("problems", [])]
    return answer.status, answer.body["error"], fields


# --- what is wrong with a field -------------------------------------------------------------------
@pytest.mark.rule("InlineFile.one-of-both", "Errors problems", "Errors invalid_request")
def test_a_wrong_field_is_named(server: AgentServer) -> None:
    for body, fields in (
        ({"message": 5}, ["message"]),
        ({"message": ["x"]}, ["message"]),
        ({"message": True}, ["message"]),
        ({"message": "x", "files": "y"}, ["files"]),
        ({"message": "x", "files": {}}, ["files"]),
        ({"message": "x", "files": ["y"]}, ["files.0"]),
        ({"message": "x", "files": [None]}, ["files.0"]),
        ({"files": [{}]}, ["files.0"]),
        ({"files": [{"url": None, "base64": None}]}, ["files.0"]),
        ({"files": [{"base64": "eA=="}, {"name": "x"}]}, ["files.1"]),
        ({"files": [{"url": 5}]}, ["files.0.url"]),
        ({"files": [{"base64": b"x".hex(), "name": 5}]}, ["files.0.name"]),
        ({"files": [{"base64": 5, "content_type": 6}]}, ["files.0.base64", "files.0.content_type"]),
        ({"message": "x", "upload_ids": "up_1"}, ["upload_ids"]),
        ({"message": "x", "upload_ids": [5]}, ["upload_ids.0"]),
        ({"message": "x", "webhook_endpoint_id": 5}, ["webhook_endpoint_id"]),
        ({"message": "x", "conversation": 5}, ["conversation"]),
        ({"message": "x", "conversation": "c" * 129}, ["conversation"]),
        ({"message": "x", "metadata": []}, ["metadata"]),
        ({"message": "x", "metadata": {"k": 5}}, ["metadata.k"]),
        ({"message": "x", "metadata": {"k": None}}, ["metadata.k"]),
        ({"message": "x", "metadata": {str(n): "" for n in range(17)}}, ["metadata"]),
        ({"message": "x", "metadata": {"k": "v" * 513}}, ["metadata.k"]),
        ({"message": "x", "metadata": {"k" * 65: "v"}}, ["metadata." + "k" * 65]),
        ({"message": "x", "metadata": {"[key]": 5}}, ["metadata.[key]"]),
        (b'{"message": "x", "message": "y"}', ["message"]),
    ):
        assert refusal(server, body) == (400, "invalid_request", fields), body


@pytest.mark.rule("Errors problems")
def test_all_problems_are_listed_up_to_ten(server: AgentServer) -> None:
    body = {"message": 5, "files": [{"url": 1}, "x"], "metadata": 7, "conversation": []}
    status, code, fields = refusal(server, body)
    assert (status, code) == (400, "invalid_request")
    assert fields == ["message", "files.0.url", "files.1", "conversation", "metadata"]
    many = {"message": "x", "files": [{"url": n} for n in range(30)]}
    assert refusal(server, many)[2] == [f"files.{n}.url" for n in range(10)]


@pytest.mark.rule(
    "createMessage.message", "createMessage.one-of-three", "Errors empty_message", "Errors too_long"
)
def test_a_code_of_its_own_wins(server: AgentServer) -> None:
    for body, code in (
        ({}, "empty_message"),
        ({"message": None, "files": None, "upload_ids": None}, "empty_message"),
        ({"message": " \n\t\u2003 "}, "empty_message"),
        ({"message": "", "files": [], "upload_ids": []}, "empty_message"),
        ({"metadata": 5}, "empty_message"),
        ({"message": "", "conversation": 5}, "empty_message"),
        ({"message": "", "conversation": "\x00"}, "empty_message"),
        ({"message": "x" * 20_001}, "too_long"),
        ({"message": "🌍" * 20_001, "files": "nope"}, "too_long"),
        ({"message": "x" * 20_001, "metadata": {"k": "\ud800"}}, "too_long"),
        ({"message": "x", "upload_ids": [f"up_{n}" for n in range(11)]}, "too_many"),
        ({"message": 5, "upload_ids": [f"up_{n}" for n in range(11)]}, "too_many"),
    ):
        assert refusal(server, body)[:2] == (400, code), body


@pytest.mark.rule("Errors upload_not_ready")
def test_uploads_that_are_not_ready(server: AgentServer) -> None:
    body = {"message": "x", "upload_ids": ["up_0"] * 11}
    assert refusal(server, body)[:2] == (409, "upload_not_ready"), "twice the same counts once"


# --- text that cannot be stored -------------------------------------------------------------------
def test_unstorable_text_is_refused_where_it_stands(server: AgentServer) -> None:
    for text, body, field in (
        ("a\x00b", {"message": "?"}, "message"),
        ("\ud800", {"message": "?"}, "message"),
        ("\udfff\ud800", {"message": "x", "conversation": "?"}, "conversation"),
        ("x\udc00", {"message": "x", "metadata": {"k": "?"}}, "metadata.k"),
        ("a\x00b", {"files": [{"name": "?", "base64": "eA=="}]}, "files.0.name"),
        ("\ud800", {"message": "x", "unknown": [{"deep": "?"}]}, "unknown.0.deep"),
    ):
        data = json.dumps(body).replace('"?"', json.dumps(text)).encode()
        assert refusal(server, data) == (400, "invalid_request", [field]), data


@pytest.mark.parametrize(
    "body",
    [
        b'{"message": "x", "metadata": {"%s": 5}}',
        b'{"message": "x", "metadata": {"%s": "v"}}',
        b'{"message": "x", "%s": "\\u0000"}',
        b'{"message": "x", "%s": ["\\ud800"]}',
        b'{"message": "x", "%s": {"\\u0000": 1}}',
        b'{"message": "x", "%s": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"%s": 1, "message": "x", "%s": 2}',
    ],
    ids=range(7),
)
def test_a_name_without_end_is_not_sent_back_whole(server: AgentServer, body: bytes) -> None:
    data = body.replace(b"%s", b"n" * 300_000)
    answer = post(server, data)
    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
    assert "nnnn" in answer.body["problems"][0]["field"]
    assert len(json.dumps(answer.body)) < 2_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity, gzip", "x"])
def test_a_coded_body_is_refused_whatever_it_holds(server: AgentServer, coding: str) -> None:
    for data in (b'{"message": "x"}', gzip.compress(b'{"message": "x"}')):
        answer = post(server, data, f"Content-Encoding: {coding}")
        assert (answer.status, answer.body["error"]) == (400, "invalid_request")
        assert "Content-Encoding" in answer.body["problems"][0]["problem"]


# --- what is no JSON object -----------------------------------------------------------------------
@pytest.mark.rule("Errors invalid_request")
def test_a_body_that_is_no_json_object_is_refused(server: AgentServer) -> None:
    for data in (
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"5",
        b"{'message': 'x'}",
        b'{"message": "x"} trailing',
        b'{"message": "x",}',
        b'{"message": NaN}',
        b'{"message": "x", "y": Infinity}',
        b'{"message": "x", "y": -Infinity}',
        b'{"message": "\xff"}',
        b'{"message": "\xed\xa0\x80"}',
        b'\xef\xbb\xbf{"message": "x"}',
        '{"message": "x"}'.encode("utf-16"),
        b'{"message": "a\x00b"}',
        b'{"message": "a\nb"}',
        b'{"message": "x", "metadata": {"k": "1", "k": "2"}}',
        b'{"message": "x", "metadata": {"\\u0000": "v"}}',
        b'{"message": "x", "metadata": {"\\ud800": "v"}}',
        b'{"message": "x", "y": ' + b"9" * 50_000 + b"}",
        b'{"message": "x", "y": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"message": "x", "y": ' + b"[" * 400_000 + b"]" * 400_000 + b"}",
        b'{"message": "x", "y": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b"[" * 900_000,
    ):
        assert refusal(server, data)[:2] == (400, "invalid_request"), data[:60]


@pytest.mark.rule("Endpoints 3")
def test_form_data_is_not_json(server: AgentServer) -> None:
    form = "Content-Type: application/x-www-form-urlencoded"
    assert refusal(server, b"message=x", form)[:2] == (400, "invalid_request")


# --- size -----------------------------------------------------------------------------------------
def test_a_declared_length_over_the_limit_is_refused_unread(server: AgentServer) -> None:
    for length in (BODY_MAX + 1, 10**12, 10**30):
        answer = raw(server, head("POST", "/v1/messages", f"Content-Length: {length}") + b"{")
        assert answer.seconds < PROMPT
        if length < 2**63:  # beyond that it is no HTTP any more
            assert (answer.status, answer.body["error"]) == (413, "too_large")
        else:
            assert answer.status in (400, 413)


def test_a_chunked_body_is_cut_off_at_the_limit(server: AgentServer) -> None:
    chunk = b"%x\r\n" % BODY_MAX + b" " * BODY_MAX + b"\r\n"
    request = head("POST", "/v1/messages", "Transfer-Encoding: chunked")
    answer = raw(server, request + chunk + b"5\r\n     \r\n")
    assert (answer.status, answer.body["error"]) == (413, "too_large")


# --- queries --------------------------------------------------------------------------------------
@pytest.mark.rule("getMessage.wait", "listMessageEvents.wait", "Limits wait")
def test_a_wait_that_is_no_number_of_seconds(caller: Caller) -> None:
    wrong = ["46", "-1", "+5", "1_0", "5.0", "%205", "5%20", "0x5", "1e1", "٣", "NaN", "true"]
    for wait in (*wrong, "%00", "", "9" * 16, "9" * 5_000):
        body = caller.refusal(400, "invalid_request", "GET", f"/v1/messages/msg_0?wait={wait}")
        assert [problem["field"] for problem in body["problems"]] == ["wait"], wait
    body = caller.refusal(400, "invalid_request", "GET", "/v1/messages/msg_0/events?wait=46")
    assert [problem["field"] for problem in body["problems"]] == ["wait"]


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&&%6Cim%69t=2", "limit=1&limit"])
def test_a_parameter_given_twice(caller: Caller, query: str) -> None:
    body = caller.refusal(400, "invalid_request", "GET", f"/v1/work?{query}")
    assert body["problems"] == [{"field": "limit", "problem": "the parameter is given twice"}]


def test_an_unknown_endpoint_is_not_found(caller: Caller) -> None:
    for name in ("whe_0", "", "x", "whe_" + "0" * 32):
        body = {"message": "x", "webhook_endpoint_id": name}
        caller.refusal(404, "not_found", "POST", "/v1/messages", json=body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"mesage": "hello"}, "'mesage' is not a field: did you mean `message`?"),
        ({"Message": "hello"}, "'Message' is not a field: did you mean `message`?"),
        ({"prompt": "hello"}, "'prompt' is not a field: did you mean `message`?"),
        ({"conversation": "c", "uploads_id": ["up_1"]}, "did you mean `upload_ids`?"),
        ({"order": "4711"}, "Give a message, files or upload_ids."),
    ],
)
def test_a_misspelt_field_is_named_when_its_own_is_missing(
    caller: Caller, body: Any, said: str
) -> None:
    refused = caller.refusal(400, "empty_message", "POST", "/v1/messages", json=body)
    assert refused["message"].endswith(said)


def test_a_missing_field_of_other_bodies_names_what_was_misspelt(caller: Caller) -> None:
    refused = caller.refusal(
        400, "invalid_request", "POST", "/v1/uploads", json={"file_name": "a.txt", "size": 1}
    )
    assert "did you mean `filename`" in str(refused["problems"])
