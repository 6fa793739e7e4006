"""Every field of an upload's form, damaged in every way: refused in S3's words, nothing stored.

The table is made from the rules and not from the code: whatever differs from the signed form, but
for names in another case and `x-ignore-…`, is no permission (design: Uploads). What each other
value is answered with: `storage/test_post_policy.py`.
"""

from collections.abc import Callable
from itertools import product

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.posting import CSV, FILE, announce, body_of, complete, post_raw, problem
from tests.e2e.server import AgentServer

FIELDS = ("key", "Content-Type", "policy", "signature")
DAMAGES: dict[str, Callable[[str], str]] = {
    "appended": lambda value: value + "x",
    "prepended": lambda value: "x" + value,
    "cut": lambda value: value[:-1],
    "empty": lambda _: "",
    "a space after": lambda value: value + " ",
    "a space before": lambda value: " " + value,
    "a line break": lambda value: value + "\r\n",
    "U+0000": lambda value: value + "\0",
    "another case": str.swapcase,
    "beyond ASCII": lambda value: value + "\u00e9",
    "full-width": lambda value: "".join(chr(0xFEE0 + ord(c)) for c in value),
    "twice": lambda value: value + value,
    "long": lambda value: value * 5_000,
}


def expect_refusal(caller: Caller, made: Json, body: bytes) -> None:
    """No file, no 5xx, an error that can be read; and the upload is as it was."""
    answer = post_raw(made, body)
    assert problem(answer)[0] in (400, 403)
    assert answer.headers["Request-Id"]
    assert (complete(caller, made).status_code, complete(caller, made).json()["error"]) == (
        409,
        "not_uploaded",
    )


@pytest.mark.parametrize(("field", "damage"), list(product(FIELDS, DAMAGES)))
def test_a_damaged_field(caller: Caller, field: str, damage: str) -> None:
    made = announce(caller)
    value = DAMAGES[damage](made["fields"][field])
    expect_refusal(caller, made, body_of({"fields": {**made["fields"], field: value}}, FILE))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_missing_or_twice(caller: Caller, field: str) -> None:
    made = announce(caller)
    rest = {n: v for n, v in made["fields"].items() if n != field}
    again = (f'name="{field}"', made["fields"][field].encode())
    expect_refusal(caller, made, body_of({"fields": rest}, FILE))
    expect_refusal(caller, made, body_of(made, again, FILE))
    expect_refusal(caller, made, body_of({"fields": rest}, FILE, again))


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace(b"\r\n", b"\n"),
        lambda body: body.replace(b"\r\n", b"\r"),
        lambda body: body.replace(b"\r\n\r\n", b"\r\n", 1),
        lambda body: body.replace(b"form-data; ", b"form-data;\r\n ", 1),
        lambda body: body.replace(b"Content-Disposition: form-data; ", b"X: ", 1),
        lambda body: body.replace(b"Content-Disposition", b"Content\0Disposition", 1),
        lambda body: body.removesuffix(b"--\r\n"),
        lambda body: body[: len(body) // 2],
        lambda body: b"text" + body,
        lambda body: b"text\r\n" * 5_000 + body,
        lambda body: body + b"x" * 100_000,
        lambda _: b"",
        lambda _: b"--b--\r\n",
    ],
)
def test_a_body_out_of_shape(caller: Caller, change: Callable[[bytes], bytes]) -> None:
    made = announce(caller)
    expect_refusal(caller, made, change(body_of(made, FILE)))


@pytest.mark.parametrize(
    "content_type",
    [
        'multipart/form-data; boundary="b"',
        "Multipart/Form-Data; charset=utf-8; Boundary=b; x=y",
        "multipart/form-data;boundary=b",
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda body: body,
        lambda body: b"\r\n" + body,
        lambda body: b"A preamble -- of\r\n--two lines\r\n" + body,
        lambda body: body + b"an epilogue",
        lambda body: body.removesuffix(b"\r\n"),
        lambda body: body.replace(b'name="key"', b"name=KEY"),
        lambda body: body.replace(b"Content-Disposition", b"X: y\r\ncontent-disposition"),
        lambda body: body.replace(b'filename="a.csv"', b'filename="a.csv"\r\nContent-Type: a/b'),
    ],
)
def test_the_same_form_in_other_words(
    caller: Caller, change: Callable[[bytes], bytes], content_type: str
) -> None:
    made = announce(caller)
    assert post_raw(made, change(body_of(made, FILE)), content_type).status_code == 204
    assert complete(caller, made).json()["size"] == len(CSV)


@pytest.mark.parametrize(
    "data",
    [b"\r\n--", b"\r\n--b", b"--b--", b"\r", b"\n", b"\r\n", b"\0", b"\r\r\n--b", b"--b--\r\n"],
    ids=repr,
)
def test_contents_that_look_like_the_boundary(
    caller: Caller, server: AgentServer, data: bytes
) -> None:
    """Whole and unchanged: the boundary here is a longer one that begins alike."""
    made = announce(caller, size=len(data) + 2)
    body = body_of(made, ('name="file"', b"<" + data + b">"), boundary="bound")
    assert post_raw(made, body, "multipart/form-data; boundary=bound").status_code == 204
    [kept] = [p for p in server.home.rglob(made["upload_id"]) if p.is_file()]
    assert kept.read_bytes() == b"<" + data + b">"
