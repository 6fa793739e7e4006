"""Files through the guarded way out, from servers that misbehave (spec: InlineFile)."""

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentpost.domain.limits import FILE_NAME_BYTES_MAX
from agentpost.egress.client import Download
from agentpost.egress.errors import EgressRefused, FetchFailed, FetchTooLarge
from tests.egress.calls import fetch, leaks
from tests.egress.conftest import Fetched, MakeEgress, Serve
from tests.egress.hostile import ENDLESS, OK, Answer, bomb, drips, floods, replies, says
from tests.waiting import PROMPT


async def test_fetch(egress: MakeEgress, serve: Serve, tmp_path: Path) -> None:
    headers = {"Content-Type": "Text/CSV; charset=utf-8"}
    server = await serve(replies(b"a,b\n", headers=headers))
    file = await fetch(egress(server.entry), server.url("/x/my%20table.csv?y"), tmp_path / "f")
    assert file == Download("my table.csv", "text/csv", 4)
    assert (tmp_path / "f").read_bytes() == b"a,b\n"


@pytest.mark.parametrize(
    ("path", "disposition", "name"),
    [
        ("/a.csv", None, "a.csv"),
        ("/", None, "file"),
        ("/%2e%2e%2f%2e%2e%2fetc%2fpasswd", None, "passwd"),
        ("/%00%0d%0a.csv", None, ".csv"),
        ("/a.csv", 'attachment; filename="b.csv"', "b.csv"),
        ("/a.csv", 'attachment; filename="../../b.csv"', "b.csv"),
        ("/a.csv", 'attachment; filename="C:\\\\dir\\\\b.csv"', "b.csv"),
        ("/a.csv", "attachment; filename*=UTF-8''%C3%BC.csv", "\u00fc.csv"),
        ("/a.csv", "attachment; filename=u.csv; filename*=utf-8'de'%C3%BC.csv", "\u00fc.csv"),
        ("/a.csv", "attachment; filename*=utf-8''%C3%BC.csv; filename=u.csv", "\u00fc.csv"),
        ("/a.csv", "attachment; filename*=ISO-8859-1''%FC.csv", "\u00fc.csv"),
        ("/a.csv", "attachment; filename*=utf-16''%FC.csv; filename=u.csv", "u.csv"),
        ("/a.csv", 'inline;FileName = "a;b \\"c\\".csv" ;x=y', 'a;b "c".csv'),
        ("/a.csv", 'attachment; filename="\u0001.csv"', ".csv"),
        ("/a.csv", 'attachment; filename="\U0001f600.csv"', "\U0001f600.csv"),
        ("/a.csv", 'attachment; filename=""', "a.csv"),
        ("/a.csv", "attachment; filename*=UTF-8''..%2f..%2fetc%2fpasswd", "passwd"),
        ("/a.csv", "attachment", "a.csv"),
    ],
)
async def test_file_name(fetched: Fetched, path: str, disposition: str | None, name: str) -> None:
    headers = {} if disposition is None else {"Content-Disposition": disposition}
    assert (await fetched(replies(b"x", headers=headers), path)).name == name


@pytest.mark.parametrize(
    "disposition",
    [
        "attachment; filename*=undefined''a%41.csv",  # a codec that only raises
        "attachment; filename*=no-such''a.csv",
        "attachment; filename*=hex''a.csv",
        "attachment; filename*=idna''%ff.csv",
        "attachment; filename*=UTF-8''%ff%fe",
        "attachment; filename*0*=undefined''%41; filename*1*=b",
        "attachment; filename*=''",
        "attachment; filename*",
        'attachment; filename="',
        "; filename=x",
        "a;" * 3_500,
        'attachment; filename="' + "\u0301\u0316" * 1_500 + '"',
    ],
)
async def test_an_odd_disposition_is_no_fault(fetched: Fetched, disposition: str) -> None:
    file = await fetched(replies(b"x", headers={"Content-Disposition": disposition}), "/a.csv")
    assert file.size == 1
    assert 0 < len(file.name.encode()) <= FILE_NAME_BYTES_MAX


@pytest.mark.parametrize("claimed", ["", "nonsense", "text/html\tx", "a/b/c", "x" * 300 + "/x"])
async def test_odd_content_type(fetched: Fetched, claimed: str) -> None:
    file = await fetched(replies(b"x", headers={"Content-Type": claimed}))
    assert file.content_type == "application/octet-stream"


async def test_size_is_counted_to_the_byte(fetched: Fetched) -> None:
    with pytest.raises(FetchTooLarge, match="larger than 999 bytes"):
        await fetched(replies(b"x" * 1_000), max_bytes=999)
    assert (await fetched(replies(b"x" * 1_000), max_bytes=1_000)).size == 1_000


async def test_endless_file_is_cut(fetched: Fetched) -> None:
    with pytest.raises(FetchTooLarge):
        await fetched(floods(ENDLESS, b"x" * 65_536), max_bytes=1_000_000)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 O", ENDLESS])
async def test_dripping_file_ends_at_the_deadline(fetched: Fetched, head: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(FetchFailed, match=r"within 0\.4 seconds"):
        await fetched(drips(head, b"K"), max_bytes=10**6, seconds=0.4)
    assert 0.4 <= time.monotonic() - started < PROMPT


async def test_broken_file(fetched: Fetched) -> None:
    with pytest.raises(FetchFailed, match="broke off"):
        await fetched(says(OK + b"Content-Length: 100\r\n\r\nhalf"))


@pytest.mark.parametrize("head", [b"", b"Transfer-Encoding: identity\r\n"])
async def test_file_without_a_length_ends_with_its_connection(
    fetched: Fetched, tmp_path: Path, head: bytes
) -> None:
    await fetched(says(OK + head + b"\r\nwhole"))
    assert (tmp_path / "f").read_bytes() == b"whole"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "GZIP"])
async def test_packed_file_is_unpacked(
    egress: MakeEgress, serve: Serve, tmp_path: Path, encoding: str
) -> None:
    data = b"hello " * 100_000
    packed = zlib.compress(data) if encoding == "deflate" else gzip.compress(data)
    server = await serve(replies(packed, headers={"Content-Encoding": encoding}))
    file = await fetch(egress(server.entry), server.url(), tmp_path / "f", len(data))
    assert file.size == len(data)
    assert (tmp_path / "f").read_bytes() == data
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (bomb, "gzip", "larger than"),
        (lambda: gzip.compress(b"x" * 500)[:-9], "gzip", "broke off"),
        (lambda: b"plain", "gzip", "could not be unpacked"),
        (lambda: b"plain", "br", "unknown way"),
        (lambda: gzip.compress(gzip.compress(b"x")), "gzip, gzip", "unknown way"),
    ],
    ids=["bomb", "cut", "not packed", "unknown", "twice"],
)
async def test_badly_packed_file(
    fetched: Fetched, body: Callable[[], bytes], encoding: str, reason: str
) -> None:
    with pytest.raises(FetchFailed, match=reason):
        await fetched(replies(body(), headers={"Content-Encoding": encoding}), max_bytes=100_000)


async def test_bytes_after_a_packed_file_are_not_read(fetched: Fetched) -> None:
    head = OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"hello")
    assert (await fetched(floods(head, b"x" * 65_536))).size == 5


@pytest.mark.parametrize("status", ["204 None", "206 Part", "304 Same", "404 No", "500 Oh"])
async def test_other_statuses(fetched: Fetched, status: str) -> None:
    with pytest.raises(FetchFailed, match=f"HTTP status {status[:3]}"):
        await fetched(replies(status=status))


async def test_existing_file_is_kept(fetched: Fetched, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        await fetched(replies(b"x"))
    assert (tmp_path / "f").read_bytes() == b"mine"


def redirects(location: str, status: str = "302 Found") -> Answer:
    return replies(status=status, headers={"Location": location})


@pytest.mark.parametrize("status", ["301 A", "302 B", "303 C", "307 D", "308 E"])
async def test_redirect_is_followed(
    egress: MakeEgress, serve: Serve, tmp_path: Path, status: str
) -> None:
    target = await serve(replies(b"there"))
    server = await serve(redirects(target.url("/b.txt"), status))
    file = await fetch(egress(server.entry, target.entry), server.url("/a"), tmp_path / "f")
    assert (file.name, file.size) == ("b.txt", 5)


@pytest.mark.parametrize("location", ["/there?x", "there?x", "./there?x", "//{host}/there?x"])
async def test_relative_redirect(
    egress: MakeEgress, serve: Serve, tmp_path: Path, location: str
) -> None:
    async def answer(request: Any, writer: asyncio.StreamWriter) -> None:
        host = request.headers["host"]
        here = "/there" in request.line
        reply = replies(b"x") if here else redirects(location.format(host=host))
        await reply(request, writer)

    server = await serve(answer)
    await fetch(egress(server.entry), server.url("/a"), tmp_path / "f")
    assert server.requests[-1].line == "GET /there?x HTTP/1.1"


@pytest.mark.parametrize(
    "location",
    [
        *("http://example.com/", "https://10.0.0.1/", "https://localhost/", "https://[::1]/"),
        *("https://metadata.google.internal/", "https://user@example.com/", "https://127.1/"),
        *("file:///etc/passwd", "ftp://example.com/", "http://127.0.0.1:{other}/"),
        *("http:\\\\127.0.0.1:{other}/", "https://[bad/", "//0x7f000001/"),
    ],
)
async def test_redirect_is_checked_like_the_first_url(
    egress: MakeEgress, serve: Serve, tmp_path: Path, location: str
) -> None:
    inside = await serve(replies(b"secret"))
    server = await serve(redirects(location.format(other=inside.port)))
    with pytest.raises((EgressRefused, FetchFailed)) as refused:
        await fetch(egress(server.entry), server.url(), tmp_path / "f")
    assert not leaks(str(refused.value))
    assert inside.connections == 0
    assert not (tmp_path / "f").exists()


async def test_redirects_end(egress: MakeEgress, serve: Serve, tmp_path: Path) -> None:
    server = await serve(redirects("/again"))
    with pytest.raises(FetchFailed, match="more than 3 times"):
        await fetch(egress(server.entry), server.url(), tmp_path / "f")
    assert len(server.requests) == 4


async def test_redirects_share_one_deadline(fetched: Fetched) -> None:
    async def slow(request: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await redirects("/again")(request, writer)

    with pytest.raises(FetchFailed, match=r"within 0\.5 seconds"):
        await fetched(slow, seconds=0.5)
