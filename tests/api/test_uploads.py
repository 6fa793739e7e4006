"""Uploads over HTTP: create, the POST target, complete, attach (spec: Uploads; design: 4.16)."""

import json
import re
import socket
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

CSV = b"a,b\n1,2\n"
MIB = 2**20


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server()


@pytest.fixture(scope="module")
def browser() -> Iterator[httpx2.Client]:
    """A client without a key."""
    with httpx2.Client(timeout=30, trust_env=False) as client:
        yield client


def announce(caller: Caller, filename: str = "a.csv", size: int = len(CSV), **more: Any) -> Json:
    body = {"filename": filename, "size": size, **more}
    answer = caller.call("POST", "/v1/uploads", json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


def post(made: Json, data: bytes = CSV, /, **changes: str | None) -> httpx2.Response:
    """Post the form, some fields changed or (None) left out."""
    fields = {**made["fields"], **{n.replace("_", "-"): v for n, v in changes.items()}}
    given = {n: v for n, v in fields.items() if v is not None}
    return httpx2.post(made["url"], data=given, files={"file": ("x", data)}, trust_env=False)


def complete(caller: Caller, made: Json) -> httpx2.Response:
    return caller.call("POST", f"/v1/uploads/{made['upload_id']}/complete")


def ready(caller: Caller, data: bytes = CSV, filename: str = "a.csv") -> str:
    made = announce(caller, filename, len(data))
    assert post(made, data).status_code == 204
    assert complete(caller, made).status_code == 200
    upload_id: str = made["upload_id"]
    return upload_id


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of an error in S3's shape."""
    assert answer.headers["content-type"].startswith("application/xml")
    code = ET.fromstring(answer.text).findtext("Code")
    assert code is not None
    return answer.status_code, code


# --- create ---------------------------------------------------------------------------------------
def test_a_created_upload(caller: Caller) -> None:
    made = announce(caller, "sales.csv", 1234)
    assert re.fullmatch("up_[0-9a-f]{32}", made["upload_id"])
    assert made["object"] == "upload"
    assert made["max_bytes"] == 1234
    assert made["fields"]["Content-Type"] == "text/csv"
    assert {"key", "policy", "signature"} <= made["fields"].keys()
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now().astimezone()
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)


@pytest.mark.parametrize("size", [None, True, False, "5", 5.0, 0, -1, [], {}], ids=repr)
def test_a_size_that_is_none(caller: Caller, size: Any) -> None:
    """spec: `bad_size`; it comes before what else is wrong (design: 4.12)."""
    if size == 10**400:
        caller.refused(
            413, "too_large", "POST", "/v1/uploads", json={"filename": "a", "size": size}
        )
        return
    caller.refused(400, "bad_size", "POST", "/v1/uploads", json={"filename": 5, "size": size})


def test_without_a_size(caller: Caller) -> None:
    caller.refused(400, "bad_size", "POST", "/v1/uploads", json={"filename": "a"})


def test_500_megabytes_are_the_most(caller: Caller) -> None:
    assert announce(caller, size=500 * MIB)["max_bytes"] == 500 * MIB
    for size in (500 * MIB + 1, 10**400):
        body = {"filename": "a", "size": size}
        caller.refused(413, "too_large", "POST", "/v1/uploads", json=body)


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
    ],
)
def test_fields_that_are_wrong(caller: Caller, fields: Json, named: str) -> None:
    body = caller.refused(400, "invalid_request", "POST", "/v1/uploads", json={"size": 5, **fields})
    assert [p["field"] for p in body["problems"]] == [named]


@pytest.mark.parametrize(
    ("filename", "given", "expected"),
    [
        ("a.pdf", None, "application/pdf"),
        ("a.PNG", "", "image/png"),
        ("no-extension", None, "application/octet-stream"),
        ("a.pdf", "text/csv; charset=utf-8", "text/csv; charset=utf-8"),
    ],
)
def test_the_type_is_guessed_from_the_name(
    caller: Caller, filename: str, given: str | None, expected: str
) -> None:
    made = announce(caller, filename, content_type=given)
    assert made["fields"]["Content-Type"] == expected


def test_a_key_is_needed(caller: Caller, callers: Any) -> None:
    stranger = callers(caller.server, None)
    stranger.refused(401, "unauthorized", "POST", "/v1/uploads", json={"filename": "a", "size": 1})
    path = f"/v1/uploads/{announce(caller)['upload_id']}/complete"
    stranger.refused(401, "unauthorized", "POST", path)


# --- the target -----------------------------------------------------------------------------------
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


def test_the_size_is_capped_at_what_was_declared(caller: Caller) -> None:
    made = announce(caller)
    assert problem(post(made, CSV + b"x")) == (400, "EntityTooLarge")
    assert problem(post(made, b"")) == (400, "EntityTooSmall")
    caller.refused(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")
    assert post(made, b"less").status_code == 204
    assert complete(caller, made).json()["size"] == 4


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"signature": "0" * 64}, (403, "SignatureDoesNotMatch")),
        ({"signature": None}, (400, "InvalidArgument")),
        ({"policy": None}, (403, "AccessDenied")),
        ({"key": None}, (400, "InvalidArgument")),
        ({"key": "../../etc/passwd"}, (403, "AccessDenied")),
        ({"Content_Type": "text/html"}, (403, "AccessDenied")),
        ({"Content_Type": None}, (403, "AccessDenied")),
        ({"acl": "public-read"}, (403, "AccessDenied")),
        ({"x_ignore_progress": "1"}, (204, "")),
    ],
)
def test_every_field_is_checked(
    caller: Caller, changes: dict[str, str | None], expected: tuple[int, str]
) -> None:
    answer = post(announce(caller), CSV, **changes)
    found = problem(answer) if answer.content else (answer.status_code, "")
    assert found == expected
    assert answer.headers["access-control-allow-origin"] == "*"


def test_one_form_is_for_one_upload(caller: Caller) -> None:
    mine, other = announce(caller), announce(caller)
    assert problem(post(mine, key=other["fields"]["key"])) == (403, "AccessDenied")


def test_a_form_expires(start_server: ServerMaker, callers: Any) -> None:
    caller = callers(start_server(upload_post_seconds=0.001))
    made = announce(caller)
    assert problem(post(made)) == (403, "AccessDenied")
    caller.refused(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


def body_of(made: Json, *parts: tuple[str, bytes], boundary: str = "b") -> bytes:
    """A form written by hand: the fields, then the given parts (header parameters, value)."""
    fields = [(f'name="{n}"', v.encode()) for n, v in made["fields"].items()]
    text = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + value + b"\r\n"
        for head, value in [*fields, *parts]
    )
    return text + f"--{boundary}--\r\n".encode()


def post_raw(
    made: Json, body: bytes, content_type: str = "multipart/form-data; boundary=b"
) -> httpx2.Response:
    headers = {"Content-Type": content_type}
    return httpx2.post(made["url"], content=body, headers=headers, trust_env=False)


FILE = ('name="file"; filename="a.csv"', CSV)


def test_fields_after_the_file_are_ignored(caller: Caller) -> None:
    made = announce(caller)
    body = body_of(made, FILE, ('name="key"', b"other"), ('name="acl"', b"public"))
    assert post_raw(made, body).status_code == 204
    assert complete(caller, made).json()["size"] == len(CSV)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], "InvalidArgument"),
        ([FILE, FILE], "InvalidArgument"),
        ([FILE, ('name="file"', b"x")], "InvalidArgument"),
        ([FILE, ('name="other"; filename="b"', b"x")], "InvalidArgument"),
        ([('name="KEY"', b"x"), FILE], "InvalidArgument"),
        ([("", b"x"), FILE], "MalformedPOSTRequest"),
        ([('name="x-ignore-a"', b"x" * 21_000), FILE], "MaxPostPreDataLengthExceeded"),
        ([(f'name="x-ignore-{n}"', b"") for n in range(60)], "MaxPostPreDataLengthExceeded"),
        ([FILE, ('name="after"', b"x" * 21_000)], "MaxPostPreDataLengthExceeded"),
        ([(f'name="x-ignore-a"; x="{"y" * 5_000}"', b""), FILE], "MalformedPOSTRequest"),
    ],
)
def test_forms_that_are_refused(caller: Caller, parts: list[tuple[str, bytes]], code: str) -> None:
    made = announce(caller)
    assert problem(post_raw(made, body_of(made, *parts))) == (400, code)
    caller.refused(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "b" * 71,
        "multipart/mixed; boundary=b",
    ],
)
def test_bodies_that_are_no_form(caller: Caller, content_type: str) -> None:
    made = announce(caller)
    answer = post_raw(made, body_of(made, FILE), content_type)
    assert problem(answer) == (400, "MalformedPOSTRequest")


def test_a_form_without_its_end(caller: Caller) -> None:
    made = announce(caller)
    cut = body_of(made, FILE).removesuffix(b"--b--\r\n")
    assert problem(post_raw(made, cut)) == (400, "MalformedPOSTRequest")
    caller.refused(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


def test_a_preamble_without_end_is_cut_off(caller: Caller) -> None:
    made = announce(caller, size=MIB)
    answer = post_raw(made, b"x" * MIB)
    assert answer.status_code == 400


def test_a_length_is_needed_and_looked_at_first(caller: Caller) -> None:
    made = announce(caller)
    form = {"Content-Type": "multipart/form-data; boundary=b"}

    def chunks() -> Iterator[bytes]:
        yield body_of(made, FILE)

    answer = httpx2.post(made["url"], content=chunks(), headers=form, trust_env=False)
    assert problem(answer) == (411, "MissingContentLength")
    # Nothing of it is sent: the answer comes all the same.
    place = urlsplit(made["url"])
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(
            f"POST {place.path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\n"
            f"Content-Length: {600 * MIB}\r\n\r\n".encode()
        )
        answered = connection.recv(4096)
    assert answered.startswith(b"HTTP/1.1 400 ")


def test_too_much_is_refused_long_before_its_end(caller: Caller) -> None:
    """A client that sends it all still gets to read the answer."""
    made = announce(caller)
    assert problem(post(made, b"x" * (20 * MIB))) == (400, "EntityTooLarge")


def test_a_preflight_is_answered(caller: Caller, browser: httpx2.Client) -> None:
    made = announce(caller)
    asked = {
        "Origin": "https://shop.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-progress",
    }
    answer = browser.options(made["url"], headers=asked)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "x-progress"
    assert browser.get(made["url"]).status_code == 405


# --- complete and attach --------------------------------------------------------------------------
def test_what_is_not_there_cannot_be_completed(caller: Caller) -> None:
    path = f"/v1/uploads/{announce(caller)['upload_id']}/complete"
    caller.refused(409, "not_uploaded", "POST", path)
    caller.refused(404, "not_found", "POST", "/v1/uploads/up_unknown/complete")


def test_another_account_sees_nothing(caller: Caller, server: AgentServer, callers: Any) -> None:
    owner = server.command("accounts", "create", "--email", "eve@example.com")
    key = server.command("keys", "create", "--account", "eve@example.com", "--name", "k")
    assert owner
    eve = callers(server, key["key"])
    mine = ready(caller)
    eve.refused(404, "not_found", "POST", f"/v1/uploads/{mine}/complete")
    body = {"message": "x", "upload_ids": [mine]}
    eve.refused(409, "upload_not_ready", "POST", "/v1/messages", json=body)


def test_an_executable_is_refused_for_good(caller: Caller) -> None:
    made = announce(caller, "cat.png", 64)
    post(made, b"\x7fELF" + bytes(60))
    path = f"/v1/uploads/{made['upload_id']}/complete"
    caller.refused(422, "executable_refused", "POST", path)
    caller.refused(409, "not_pending", "POST", path)
    body = {"message": "x", "upload_ids": [made["upload_id"]]}
    caller.refused(409, "upload_not_ready", "POST", "/v1/messages", json=body)


def test_an_upload_alone_is_a_message(caller: Caller) -> None:
    upload_id = ready(caller, b"only this")
    assert caller.send(upload_ids=[upload_id, upload_id])["final"] is True
    path = f"/v1/uploads/{upload_id}/complete"
    caller.refused(409, "not_pending", "POST", path)
    body = {"message": "x", "upload_ids": [upload_id]}
    caller.refused(409, "upload_not_ready", "POST", "/v1/messages", json=body)


def test_inline_files_come_first_then_uploads_as_named(caller: Caller) -> None:
    two = [ready(caller, b"two", "2.txt"), ready(caller, b"one", "1.txt")]
    inline = [{"name": "0.txt", "base64": "emVybw=="}]
    message = caller.send([["read"]], upload_ids=two[::-1], files=inline)
    assert message["reply"] == "zero\none\ntwo"


def test_ten_uploads_are_the_most(caller: Caller) -> None:
    body = {"message": "x", "upload_ids": [f"up_{n}" for n in range(11)]}
    caller.refused(400, "too_many", "POST", "/v1/messages", json=body)
    ten = [ready(caller, b"x") for _ in range(10)]
    assert len(json.loads(caller.send([["see"]], upload_ids=ten)["reply"])["files"]) == 10


def test_a_refused_message_leaves_its_uploads(caller: Caller) -> None:
    upload_id = ready(caller)
    pending = announce(caller)["upload_id"]
    body: Json = {"message": "x", "upload_ids": [upload_id, pending]}
    caller.refused(409, "upload_not_ready", "POST", "/v1/messages", json=body)
    body = {"message": "x", "upload_ids": [upload_id], "webhook_endpoint_id": "whe_none"}
    caller.refused(404, "not_found", "POST", "/v1/messages", json=body)
    assert caller.send("x", upload_ids=[upload_id])["final"] is True


def test_a_repeated_message_has_its_uploads_already(caller: Caller) -> None:
    upload_id = ready(caller)
    first = caller.post("x", key="with-upload", upload_ids=[upload_id])
    again = caller.post("x", key="with-upload", upload_ids=[upload_id])
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = caller.post("x", key="with-upload", upload_ids=[ready(caller)])
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_conflict")


def test_uploads_do_not_count_as_inline_bytes(caller: Caller, start_server: ServerMaker) -> None:
    """A large upload leaves an inline file its room."""
    upload_id = ready(caller, b"x" * (26 * MIB), "big.txt")
    inline = [{"name": "small.txt", "base64": "eA=="}]
    message = caller.send([["see"]], upload_ids=[upload_id], files=inline)
    assert [f["size"] for f in json.loads(message["reply"])["files"]] == [1, 26 * MIB]
