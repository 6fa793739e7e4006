"""Receivers that break the protocol, on real sockets (spec: Webhook events 6; design: The way out).

Whatever they do, an attempt ends in time, says what was wrong in words that name no address, and
what is kept of the answer is short text that every database takes.
"""

import asyncio
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from agentpost.egress import names
from agentpost.egress.client import Answer
from agentpost.egress.errors import FetchFailed
from tests import programs
from tests.egress.calls import Names, exchange, post
from tests.egress.certificates import make_authority
from tests.egress.conftest import MakeEgress, Posted, Serve
from tests.egress.hostile import (
    CONTINUE,
    DRIP,
    OK,
    Request,
    breaks,
    drips,
    floods,
    replies,
    resets_after,
    says,
    serving,
)
from tests.waiting import PATIENCE, PROMPT

NOT_HTTP = "its answer is not valid HTTP"
BROKE_OFF = "its answer broke off"
HUNG_UP = "it closed the connection without an answer"


# --- answers that are none ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", HUNG_UP),
        (b"HTTP/1.1 200", BROKE_OFF),
        (OK + b"X-Half: a", BROKE_OFF),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NOT_HTTP),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18, NOT_HTTP),  # HTTP/2 SETTINGS
        (b"HTTP/1.1 200 " + b"K" * 100_000, NOT_HTTP),
        (b"HTTP/1.1 20 OK\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 2000 OK\r\n\r\n", NOT_HTTP),
        (b"HTTP/9.9 200 OK\r\n\r\n", NOT_HTTP),
        (OK + b"Content-Length: a\r\n\r\n", NOT_HTTP),
        (OK + b"Content-Length: -1\r\n\r\n", NOT_HTTP),
        (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", NOT_HTTP),
        (OK + b"no colon\r\n\r\n", NOT_HTTP),
        (OK + b"X: a\0b\r\n\r\n", NOT_HTTP),
        (b"\x16\x03\x01 not TLS either", NOT_HTTP),
        (b"SSH-2.0-OpenSSH_9.6\r\n", NOT_HTTP),
        (b"<html>\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 abc\r\n\r\n", NOT_HTTP),
    ],
)
async def test_no_answer_at_all(egress: MakeEgress, serve: Serve, raw: bytes, error: str) -> None:
    server = await serve(says(raw))
    result = await post(egress(server.entry), server.url())
    assert (result.status, result.snippet, result.error) == (None, "", error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("piece", [CONTINUE, DRIP])
async def test_a_flood_of_interim_answers_is_cut_short(
    egress: MakeEgress, serve: Serve, piece: bytes
) -> None:
    """It would keep the processor busy until the deadline, and the loop with it."""
    server = await serve(floods(b"", piece * 1_000))
    client = egress(server.entry)
    result = await post(client, server.url(), seconds=30)
    assert (result.status, result.error) == (None, NOT_HTTP)
    assert result.ms < 15_000
    with pytest.raises(FetchFailed, match="not valid HTTP"):
        await exchange(client, server.url())


async def test_interim_answers_that_drip_are_cut_short(posted: Posted) -> None:
    result = await posted(drips(b"", DRIP))
    assert (result.status, result.error) == (None, NOT_HTTP)


async def test_a_few_interim_answers_are_fine(posted: Posted) -> None:
    final = OK + b"Content-Length: 2\r\n\r\nok"
    result = await posted(says(CONTINUE + DRIP * 2 + final))
    assert (result.status, result.snippet, result.error) == (200, "ok", None)


async def test_switching_protocols_is_no_success(posted: Posted) -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    result = await posted(floods(head, b"x" * 65_536))
    assert (result.status, result.error) == (101, None)  # the sender takes 2xx only
    assert result.ms < 3_000


# --- bodies that lie ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("raw", "snippet"),
    [
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", ""),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", ""),
        (OK + b"Content-Length: 100\r\n\r\nhalf", "half"),
        (OK + b"X: a\x01b\r\n\r\nok", "ok"),
        (OK + b"Content-Length: 4\r\n\r\nfour and more", "four"),
        (OK + b"Content-Length: 99999999999999999\r\n\r\na", "a"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\ngarbage", "ok"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nok", ""),
        (OK + b"Content-Encoding: gzip\r\n\r\nnot packed", ""),
        (OK + b"Content-Encoding: br, gzip\r\n\r\n\x1f\x8b", ""),
        (
            OK + b"Content-Type: text/plain; charset=utf-16\r\n\r\na\xff\xfe\x00b",
            "a\ufffd\ufffd\ufffdb",
        ),
        (OK + b"\r\n\xed\xa0\x80\xf4\x90\x80\x80", "\ufffd" * 7),
        (OK + b"\r\na\0b\x1b[31m\xff\n\tc", "a\ufffdb\ufffd[31m\ufffd\n\tc"),
        (OK + b"\r\n" + "é".encode() * 1_024, "é" * 512),
        (OK + b"\r\n\xe2\x80\xae\xef\xbb\xbfa\x7f\x85", None),
    ],
)
async def test_a_strange_body_does_not_undo_the_status(
    posted: Posted, raw: bytes, snippet: str | None
) -> None:
    result = await posted(says(raw))
    assert (result.status, result.error) == (int(raw[9:12]), None)
    assert "\0" not in result.snippet
    assert len(result.snippet) <= 1_024
    result.snippet.encode()
    assert result.ms < 3_000
    if snippet is not None:
        assert result.snippet == snippet


@pytest.mark.parametrize("behind", [OK + b"Content-Length: 6\r\n\r\nforged", b" and more", b"HTT"])
async def test_bytes_after_an_answer_are_not_taken_for_the_next(
    egress: MakeEgress, serve: Serve, behind: bytes
) -> None:
    async def two_at_once(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno" + behind)

    server = await serve(two_at_once)
    client = egress(server.entry)
    for _ in range(3):
        result = await post(client, server.url())
        assert (result.status, result.snippet) == (500, "no")
    assert server.connections == 3


# --- connections ----------------------------------------------------------------------------------
async def test_a_reset_in_the_middle(posted: Posted) -> None:
    result = await posted(resets_after(b"HTTP/1.1 200 OK\r\nX: "))
    assert (result.status, result.error) == (None, BROKE_OFF)
    result = await posted(resets_after(OK + b"Content-Length: 100\r\n\r\nhalf"))
    assert (result.status, result.error) == (200, None)


async def test_accepting_without_reading(egress: MakeEgress) -> None:
    """A body larger than what the sockets buffer never leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        client = egress(f"127.0.0.1:{port}")
        started = time.monotonic()
        result = await client.post(f"http://127.0.0.1:{port}/", b"x" * 20_000_000, {}, seconds=0.5)
        assert time.monotonic() - started < PROMPT
    assert (result.status, result.error) == (None, "no answer within 0.5 seconds")


async def test_a_full_queue_of_connections(egress: MakeEgress) -> None:
    """Nobody accepts: the connection itself takes for ever."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        port = listening.getsockname()[1]
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        client = egress(f"127.0.0.1:{port}")
        result = await post(client, f"http://127.0.0.1:{port}/", seconds=0.5)
        for filler in fillers:
            filler.close()
    assert (result.status, result.error) == (None, "no answer within 0.5 seconds")
    assert 500 <= result.ms < PROMPT * 1_000


@pytest.mark.parametrize(
    ("answered", "sent_anew"), [(b"", True), (b"HTTP/1.1 50", False), (OK, False)]
)
async def test_a_kept_connection_that_breaks(
    egress: MakeEgress, serve: Serve, answered: bytes, sent_anew: bool
) -> None:
    """Closed while idle: sent anew at once. But who has begun to answer has got the request."""
    server = await serve(breaks(answered))
    client = egress(server.entry)
    await post(client, server.url())
    result = await post(client, server.url())
    assert (result.status, result.error) == ((200, None) if sent_anew else (None, BROKE_OFF))
    assert len(server.requests) == 2 + sent_anew
    other = await serve(breaks(answered, b"whole"))
    client = egress(other.entry)
    assert await exchange(client, other.url()) == Answer(200, b"whole")
    if sent_anew:
        assert await exchange(client, other.url()) == Answer(200, b"whole")
    else:
        with pytest.raises(FetchFailed, match="broke off"):
            await exchange(client, other.url())
    assert len(other.requests) == 2 + sent_anew


async def test_a_receiver_that_fails_on_a_request_gets_it_twice(
    egress: MakeEgress, serve: Serve
) -> None:
    """However many connections to it are kept."""
    fails = asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if fails.is_set():
            writer.close()
        else:
            await replies()(request, writer)

    server = await serve(answer)
    client = egress(server.entry)
    await asyncio.gather(*(post(client, server.url()) for _ in range(5)))
    before = len(server.requests)
    fails.set()
    assert (await post(client, server.url())).error == HUNG_UP
    assert len(server.requests) == before + 2


# --- TLS ------------------------------------------------------------------------------------------
async def test_a_handshake_that_hangs(egress: MakeEgress) -> None:
    """Connected, but it never says hello."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        client = egress(f"127.0.0.1:{port}")
        result = await post(client, f"https://127.0.0.1:{port}/", seconds=0.5)
    assert (result.status, result.error) == (None, "no answer within 0.5 seconds")
    assert 500 <= result.ms < PROMPT * 1_000


@pytest.mark.parametrize("wrong", ["expired", "self_signed", "other_name"])
async def test_a_certificate_that_proves_nothing(
    egress: MakeEgress, serve: Serve, tmp_path: Path, wrong: str
) -> None:
    host = "hooks.example.com"
    authority = make_authority(
        tmp_path,
        "other.example.com" if wrong == "other_name" else host,
        expired=wrong == "expired",
        self_signed=wrong == "self_signed",
    )
    server = await serve(replies(), authority.server_context)
    client = egress(f"{host}:{server.port}", ca_file=authority.ca_file, lookup=Names(["127.0.0.1"]))
    result = await post(client, f"https://{host}:{server.port}/")
    assert (result.status, result.error) == (None, "its TLS certificate is not valid")
    assert server.requests == []


async def test_no_tls_at_all(egress: MakeEgress) -> None:
    """It answers the handshake as plain HTTP servers do."""

    def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        result = await post(egress(f"127.0.0.1:{port}"), f"https://127.0.0.1:{port}/")
    assert (result.status, result.error) == (None, "no TLS connection could be made")


# --- names ----------------------------------------------------------------------------------------
async def test_ipv6_only(egress: MakeEgress) -> None:
    async with serving(replies(b"six"), host="::1") as server:
        client = egress(f"six.test:{server.port}", lookup=Names(["::1"]))
        result = await post(client, f"http://six.test:{server.port}/")
        assert (result.status, result.snippet) == (200, "six")
        bare = await post(egress(f"[::1]:{server.port}"), f"http://[::1]:{server.port}/")
        assert (bare.status, server.requests[-1].headers["host"]) == (200, f"[::1]:{server.port}")


async def test_the_first_address_is_dead(egress: MakeEgress) -> None:
    """The next one is dialed within the same attempt."""
    async with serving(replies(b"second")) as server:
        client = egress(f"two.test:{server.port}", lookup=Names(["127.0.0.9", "127.0.0.1"]))
        result = await post(client, f"http://two.test:{server.port}/")
    assert (result.status, result.snippet) == (200, "second")


async def test_a_silent_name_server_takes_one_thread(
    egress: MakeEgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many deliveries wait for the name: the others find a thread at once."""
    asked: list[str] = []
    answered = threading.Event()

    def getaddrinfo(host: str) -> list[str]:
        asked.append(host)
        if host == "silent.test":
            answered.wait(PATIENCE)
        return ["127.0.0.1"]

    monkeypatch.setattr(names, "_getaddrinfo", getaddrinfo)
    monkeypatch.setattr(names, "_LOOKUP_THREADS", 2)
    async with serving(replies()) as server:
        client = egress("silent.test", f"quick.test:{server.port}")
        waiting = [post(client, "http://silent.test/", seconds=0.3) for _ in range(20)]
        outcomes = await asyncio.gather(*waiting)
        assert {each.error for each in outcomes} == {"no answer within 0.3 seconds"}
        assert (await post(client, f"http://quick.test:{server.port}/")).status == 200
        answered.set()
    assert asked == ["silent.test", "quick.test"]


def test_a_silent_name_server_does_not_hold_up_the_end() -> None:
    script = (
        "import asyncio, time\n"
        "from agentpost.egress import names\n"
        "from agentpost.egress.client import Egress\n"
        "names._getaddrinfo = lambda host: time.sleep(600)\n"
        "async def main():\n"
        "    way = Egress()\n"
        "    print((await way.post('https://a.test/', b'', {}, seconds=0.1)).error)\n"
        "    await way.aclose()\n"
        "asyncio.run(main())\n"
    )
    ended = programs.run(sys.executable, "-c", script, seconds=120)
    assert (ended.stdout, ended.stderr) == ("no answer within 0.1 seconds\n", "")


async def test_a_name_that_changes_while_connections_are_kept(
    egress: MakeEgress, serve: Serve
) -> None:
    """A kept connection goes on to where it was checked; a new one is checked again."""
    server = await serve(replies())
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    client = egress("127.0.0.1", f"kept.test:{server.port}", lookup=names)
    url = f"http://kept.test:{server.port}/"
    assert [(await post(client, url)).status for _ in range(3)] == [200] * 3
    assert (len(names.asked), server.connections) == (1, 1)
