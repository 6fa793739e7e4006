"""Uploads over HTTP: create, complete, attach (spec: Upload; createUpload; completeUpload; design:
Uploads).
"""

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.posting import CSV, MIB, announce, complete, post, ready
from tests.e2e.server import AgentServer

LEFT_OUT = "left out"


# --- create ---------------------------------------------------------------------------------------
@pytest.mark.rule(
    "Upload.object",
    "Upload.upload_id",
    "Upload.fields",
    "Upload.expires_at",
    "Upload.max_bytes",
    "createUpload.answers",
    "Limits upload-link",
)
def test_a_created_upload(caller: Caller, server: AgentServer) -> None:
    made = announce(caller, "sales.csv", 1234)
    assert made["url"].startswith(f"{server.url}/"), "where nothing else is set"
    assert re.fullmatch("up_[0-9a-f]{32}", made["upload_id"])
    assert made["object"] == "upload"
    assert made["max_bytes"] == 1234
    assert made["filename"] == "sales.csv"
    assert announce(caller, "a\\.gitignore", 5)["filename"] == ".gitignore"
    assert made["fields"]["Content-Type"] == "text/csv"
    assert {"key", "policy", "signature"} <= made["fields"].keys()
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now().astimezone()
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)


@pytest.mark.rule("createUpload.size", "Errors bad_size")
@pytest.mark.parametrize("size", [LEFT_OUT, None, True, False, "5", 5.0, 0, -1, [], {}], ids=repr)
def test_a_size_that_is_none(caller: Caller, size: Any) -> None:
    """It comes before what else is wrong (design: Input)."""
    given = {} if size is LEFT_OUT else {"size": size}
    caller.refusal(400, "bad_size", "POST", "/v1/uploads", json={"filename": 5, **given})


@pytest.mark.rule("Retry safety 5")
def test_each_call_makes_another_upload(caller: Caller) -> None:
    first, second = announce(caller, "sales.csv", 5), announce(caller, "sales.csv", 5)
    assert first["upload_id"] != second["upload_id"]
    assert first["fields"]["key"] != second["fields"]["key"]


@pytest.mark.rule(
    "What the service does 4", "createUpload.size", "Errors too_large", "Limits upload-size"
)
def test_500_megabytes_are_the_most(caller: Caller) -> None:
    assert announce(caller, size=500 * MIB)["max_bytes"] == 500 * MIB
    for size in (500 * MIB + 1, 10**400):
        body = {"filename": "a", "size": size}
        caller.refusal(413, "too_large", "POST", "/v1/uploads", json=body)


@pytest.mark.rule("createUpload.filename")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "filename"),
        ({"filename": None}, "filename"),
        ({"filename": 5}, "filename"),
        ({"filename": ""}, "filename"),
        ({"filename": "a", "content_type": 5}, "content_type"),
        ({"filename": "a", "content_type": "csv"}, "content_type"),
        ({"filename": "a", "content_type": "a/b\r\nX: y"}, "content_type"),
        ({"filename": "a", "content_type": "a//b"}, "content_type"),
        ({"filename": "a", "content_type": "a/b c"}, "content_type"),
        ({"filename": "a", "content_type": "a/b, c/d"}, "content_type"),
        ({"filename": "a", "content_type": "a/b "}, "content_type"),
        ({"filename": "a", "content_type": "a/b; c=\u00e9"}, "content_type"),
    ],
)
def test_fields_that_are_wrong(caller: Caller, fields: Json, named: str) -> None:
    body = caller.refusal(400, "invalid_request", "POST", "/v1/uploads", json={"size": 5, **fields})
    assert [p["field"] for p in body["problems"]] == [named]


@pytest.mark.rule("createUpload.content_type")
@pytest.mark.parametrize(
    ("filename", "given", "expected"),
    [
        ("a.pdf", None, "application/pdf"),
        ("a.PNG", "", "image/png"),
        ("a.webp", None, "image/webp"),
        ("a.tar.gz", None, "application/gzip"),
        ("no-extension", None, "application/octet-stream"),
        ("a.bin", "*/*", "*/*"),
        ("a.pdf", "TEXT/csv ;charset=utf-8", "TEXT/csv ;charset=utf-8"),
        ("a.pdf", "text/csv; charset=utf-8", "text/csv; charset=utf-8"),
    ],
)
def test_the_type_is_guessed_from_the_name(
    caller: Caller, filename: str, given: str | None, expected: str
) -> None:
    made = announce(caller, filename, content_type=given)
    assert made["fields"]["Content-Type"] == expected


# --- complete and attach --------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "What the service does 4",
    "Upload.object",
    "Upload.ready",
    "Upload states 2",
    "createUpload.procedure",
    "completeUpload.answers",
    "Retry safety 2",
)
def test_the_whole_way(caller: Caller) -> None:
    made = announce(caller, "../../sales.csv")
    answer = post(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["etag"]
    done = complete(caller, made)
    assert done.status_code == 200
    assert done.json() == {
        "object": "upload",
        "upload_id": made["upload_id"],
        "status": "ready",
        "filename": "sales.csv",
        "content_type": "text/csv",
        "size": len(CSV),
    }
    assert complete(caller, made).json() == done.json()
    message = caller.send([["see"]], upload_ids=[made["upload_id"]])
    assert json.loads(message["reply"])["files"] == [
        {"name": "sales.csv", "size": len(CSV), "type": "text/csv"}
    ]
    assert message["notes"] == []


@pytest.mark.rule("Upload states 3", "Errors not_pending")
def test_an_executable_is_refused_for_good(caller: Caller) -> None:
    made = announce(caller, "cat.png", 64)
    post(made, b"\x7fELF" + bytes(60))
    path = f"/v1/uploads/{made['upload_id']}/complete"
    caller.refusal(422, "executable_refused", "POST", path)
    caller.refusal(409, "not_pending", "POST", path)
    body = {"message": "x", "upload_ids": [made["upload_id"]]}
    caller.refusal(409, "upload_not_ready", "POST", "/v1/messages", json=body)


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Upload states 3", "createMessage.one-of-three", "Errors not_pending")
def test_an_upload_alone_is_a_message(caller: Caller) -> None:
    upload_id = ready(caller, b"only this")
    assert caller.send(upload_ids=[upload_id, upload_id])["final"] is True
    path = f"/v1/uploads/{upload_id}/complete"
    caller.refusal(409, "not_pending", "POST", path)
    body = {"message": "x", "upload_ids": [upload_id]}
    caller.refusal(409, "upload_not_ready", "POST", "/v1/messages", json=body)


def test_inline_files_come_first_then_uploads_as_named(caller: Caller) -> None:
    two = [ready(caller, b"two", "2.txt"), ready(caller, b"one", "1.txt")]
    inline = [{"name": "0.txt", "base64": "emVybw=="}]
    message = caller.send([["read"]], upload_ids=two[::-1], files=inline)
    assert message["reply"] == "zero\none\ntwo"


@pytest.mark.rule("createMessage.upload_ids", "Errors too_many", "Limits uploads-per-message")
def test_ten_uploads_are_the_most(caller: Caller) -> None:
    body = {"message": "x", "upload_ids": [f"up_{n}" for n in range(11)]}
    caller.refusal(400, "too_many", "POST", "/v1/messages", json=body)
    ten = [ready(caller, b"x") for _ in range(10)]
    assert len(json.loads(caller.send([["see"]], upload_ids=ten)["reply"])["files"]) == 10


def test_a_refused_message_leaves_its_uploads(caller: Caller) -> None:
    upload_id = ready(caller)
    pending = announce(caller)["upload_id"]
    body: Json = {"message": "x", "upload_ids": [upload_id, pending]}
    caller.refusal(409, "upload_not_ready", "POST", "/v1/messages", json=body)
    body = {"message": "x", "upload_ids": [upload_id], "webhook_endpoint_id": "whe_none"}
    caller.refusal(404, "not_found", "POST", "/v1/messages", json=body)
    assert caller.send("x", upload_ids=[upload_id])["final"] is True


@pytest.mark.databases("sqlite", "postgres")
def test_a_repeated_message_has_its_uploads_already(caller: Caller) -> None:
    upload_id = ready(caller)
    first = caller.post("x", key="with-upload", upload_ids=[upload_id])
    again = caller.post("x", key="with-upload", upload_ids=[upload_id])
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = caller.post("x", key="with-upload", upload_ids=[ready(caller)])
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_conflict")


def test_uploads_do_not_count_as_inline_bytes(caller: Caller) -> None:
    """A large upload leaves an inline file its room."""
    upload_id = ready(caller, b"x" * (26 * MIB), "big.txt")
    inline = [{"name": "small.txt", "base64": "eA=="}]
    message = caller.send([["see"]], upload_ids=[upload_id], files=inline)
    assert [f["size"] for f in json.loads(message["reply"])["files"]] == [1, 26 * MIB]
