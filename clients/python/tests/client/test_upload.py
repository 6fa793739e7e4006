"""`upload`, and `send` with files that are too large or too many to travel inside a message."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentpost_client import ApiError, Attachment
from tests.client.scripted import KEY, Talk, answer, message

TICKET = {
    "upload_id": "up_1",
    "url": "http://store.test/bucket",
    "fields": {"key": "uploads/up_1", "Content-Type": "text/csv", "policy": "p", "signature": "s"},
}
POSTED = httpx2.Response(204)


def ready(upload_id: str = "up_1") -> dict[str, Any]:
    return {"object": "upload", "upload_id": upload_id, "status": "ready", "size": 8}


def parts(request: httpx2.Request) -> list[tuple[str, bytes]]:
    """Name and value of each part of a form, in order."""
    boundary = re.fullmatch("multipart/form-data; boundary=(.+)", request.headers["Content-Type"])
    assert boundary is not None
    pieces = request.content.split(f"--{boundary[1]}".encode())
    assert (pieces[0], pieces[-1]) == (b"", b"--\r\n")
    found = []
    for piece in pieces[1:-1]:
        head, _, value = piece.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]+)"', head)
        assert name is not None
        found.append((name[1].decode(), value.removesuffix(b"\r\n")))
    return found


async def test_create_post_complete(talk: Talk, tmp_path: Path) -> None:
    csv = tmp_path / "sales.csv"
    csv.write_bytes(b"a,b\n1,2\n")
    talk.script = [answer(TICKET, 201), POSTED, answer(ready())]
    upload = await talk("upload", csv)
    assert (upload.upload_id, upload.status) == ("up_1", "ready")
    create, post, complete = talk.asked
    assert create.content == b'{"filename": "sales.csv", "size": 8}'
    assert str(post.url) == TICKET["url"]
    assert parts(post) == [
        ("key", b"uploads/up_1"),
        ("Content-Type", b"text/csv"),
        ("policy", b"p"),
        ("signature", b"s"),
        ("file", b"a,b\n1,2\n"),
    ]
    assert post.headers["Content-Length"] == str(len(post.content))
    assert "Transfer-Encoding" not in post.headers
    assert complete.url.path == "/v1/uploads/up_1/complete"
    keys = [request.headers.get("Authorization") for request in talk.asked]
    assert keys == [f"Bearer {KEY}", None, f"Bearer {KEY}"]


async def test_a_refused_post_is_reported_and_not_completed(talk: Talk) -> None:
    talk.script = [answer(TICKET, 201), httpx2.Response(403, content=b"<Error/>")]
    with pytest.raises(ApiError) as caught:
        await talk("upload", Attachment("a.csv", b"12345678"))
    assert caught.value.status == 403


async def test_send_uploads_what_does_not_fit_inside(talk: Talk, tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as stream:
        stream.truncate(10 * 2**20 + 1)
    talk.script = [answer(TICKET, 201), POSTED, answer(ready()), answer(message(), 201)]
    await talk("send", "Look", [big, Attachment("small", b"x")], upload_ids=["up_0"])
    assert len(parts(talk.asked[1])[-1][1]) == 10 * 2**20 + 1
    body = talk.asked[-1].content
    assert b'"upload_ids": ["up_0", "up_1"]' in body
    assert b'"name": "small"' in body
    assert b"big.bin" not in body


@pytest.mark.parametrize(("count", "size"), [(6, 1), (3, 9 * 2**20)], ids=["sixth", "over the sum"])
async def test_send_uploads_the_file_that_is_too_many(talk: Talk, count: int, size: int) -> None:
    talk.script = [answer(TICKET, 201), POSTED, answer(ready()), answer(message(), 201)]
    await talk("send", "Look", [Attachment(f"{n}", b"x" * size) for n in range(count)])
    last = f'{{"filename": "{count - 1}", "size": {size}}}'
    assert talk.asked[0].content == last.encode()
    assert b'"upload_ids": ["up_1"]' in talk.asked[-1].content
