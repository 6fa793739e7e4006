"""The place where clients post uploads: S3's rules, field by field (design: Uploads)."""

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import (
    CSV,
    FILE,
    MIB,
    announce,
    body_of,
    complete,
    post,
    post_raw,
    problem,
)
from tests.waiting import PATIENCE


@pytest.mark.rule("createUpload.size")
def test_the_size_is_capped_at_what_was_declared(caller: Caller) -> None:
    made = announce(caller)
    assert problem(post(made, CSV + b"x")) == (400, "EntityTooLarge")
    assert problem(post(made, b"")) == (400, "EntityTooSmall")
    caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")
    assert post(made, b"less").status_code == 204
    assert complete(caller, made).json()["size"] == 4


@pytest.mark.rule("createUpload.content_type")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"signature": "0" * 64}, (403, "SignatureDoesNotMatch")),
        ({"key": None}, (400, "InvalidArgument")),
        ({"Content_Type": "text/html"}, (403, "AccessDenied")),
        ({"x_ignore_progress": "1"}, (204, "")),
    ],
)
def test_every_field_is_checked(
    caller: Caller, changes: dict[str, str | None], expected: tuple[int, str]
) -> None:
    """And answered as S3 would; the whole table: `storage/test_post_policy.py`."""
    answer = post(announce(caller), CSV, **changes)
    found = problem(answer) if answer.content else (answer.status_code, "")
    assert found == expected
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.rule("createUpload.procedure", "Limits upload-link")
def test_a_form_expires(start_server: ServerMaker, callers: Any) -> None:
    caller = callers(start_server(upload_post_seconds=0.001))
    made = announce(caller)
    assert problem(post(made)) == (403, "AccessDenied")
    caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


@pytest.mark.parametrize(
    "filename",
    [
        '"\U0001f600 \u65e5\u672c.csv"'.encode(),  # browsers and curl send names as they are
        b'"\xdcbersicht.csv"',
        b'"\xff\xfe\x80"',
        b'"../../etc/passwd"',
        b'"' + b"x" * 2_000 + b'"',
        b'""',
        b"unquoted",
    ],
    ids=repr,
)
def test_the_name_of_the_posted_file_is_not_looked_at(caller: Caller, filename: bytes) -> None:
    made = announce(caller)
    file = ('name="file"; filename=' + filename.decode(errors="surrogateescape"), CSV)
    assert post_raw(made, body_of(made, file)).status_code == 204
    assert complete(caller, made).json()["filename"] == "a.csv"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("caf\u00e9", "AccessDenied"),
        ("\u212aey", "AccessDenied"),  # a Kelvin sign, in lower case a k
        ('<b>&amp;\\"', "AccessDenied"),
        ("a\x01b", "MalformedPOSTRequest"),
        ("a\0b", "MalformedPOSTRequest"),
    ],
    ids=ascii,
)
def test_odd_names_of_fields_are_reported_in_good_xml(caller: Caller, name: str, code: str) -> None:
    made = announce(caller)
    answer = post_raw(made, body_of(made, (f'name="{name}"', b"x"), FILE))
    assert problem(answer)[1] == code


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
    caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


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
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as connection:
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


def test_a_preflight_is_answered(caller: Caller) -> None:
    made = announce(caller)
    asked = {
        "Origin": "https://shop.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-progress",
    }
    answer = httpx2.options(made["url"], headers=asked, trust_env=False)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "x-progress"
    assert httpx2.get(made["url"], trust_env=False).status_code == 405
