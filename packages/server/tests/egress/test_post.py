"""Webhooks through the guarded way out, to receivers that misbehave (spec: Webhook events 6)."""

import asyncio
import math
import time
from pathlib import Path
from typing import cast

import pytest

from agentpost.egress import connections
from agentpost.egress.connection import Connection
from tests.egress.calls import Names, post
from tests.egress.certificates import make_authority
from tests.egress.conftest import MakeEgress, Posted, Serve
from tests.egress.hostile import (
    ENDLESS,
    INTERIM,
    NOTHING_AND_MORE,
    OK,
    bomb,
    drips,
    floods,
    replies,
    serving,
)
from tests.waiting import PATIENCE, PROMPT


async def test_post_sends_what_it_is_given(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies(b"thanks", "202 Accepted"))
    result = await egress(server.entry).post(
        server.url("/hook"),
        b'{"a": 1}',
        {"Content-Type": "application/json", "webhook-id": "evt_1"},
        seconds=30,
    )
    assert (result.status, result.snippet, result.error) == (202, "thanks", None)
    assert 0 <= result.ms < PROMPT * 1_000
    request = server.requests[0]
    assert request.body == b'{"a": 1}'
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == "evt_1"
    assert request.headers["user-agent"].startswith("agentpost/")


async def test_connections_are_kept(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies(b"ok", headers={"Set-Cookie": "a=b; Path=/"}))
    client = egress(server.entry)
    for _ in range(3):
        assert (await post(client, server.url())).status == 200
    assert server.connections == 1
    assert all("cookie" not in request.headers for request in server.requests)


async def test_connections_nobody_uses_are_closed(
    egress: MakeEgress, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, also those that were given back while the first one was waited for."""
    monkeypatch.setattr(connections, "KEEPALIVE_SECONDS", 0.05)
    server = await serve(replies())
    client = egress(server.entry)
    for _ in range(2):
        await asyncio.gather(post(client, server.url()), post(client, server.url()))
        async with asyncio.timeout(PATIENCE):
            while server.open:  # noqa: ASYNC110 - the server counts, it announces nothing
                await asyncio.sleep(0.01)
    assert server.connections == 4


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_request_that_was_answered_half_sent_is_the_last_of_its_connection(
    egress: MakeEgress, tmp_path: Path, scheme: str
) -> None:
    """What is left of it would be taken for the beginning of the next. The answer comes as soon as
    the connection is there, as from a server that is overloaded."""
    connections: list[asyncio.Transport] = []

    class Hasty(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connection = cast("asyncio.Transport", transport)
            connection.pause_reading()
            connection.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            connections.append(connection)

    authority = make_authority(tmp_path, "hasty.test")
    tls = authority.server_context if scheme == "https" else None
    loop = asyncio.get_running_loop()
    async with await loop.create_server(Hasty, "127.0.0.1", 0, ssl=tls) as listening:
        port = listening.sockets[0].getsockname()[1]
        names = Names(["127.0.0.1"])
        client = egress(f"hasty.test:{port}", ca_file=authority.ca_file, lookup=names)
        for _ in range(2):
            result = await client.post(
                f"{scheme}://hasty.test:{port}/", b"x" * 20_000_000, {}, seconds=30
            )
            assert (result.status, result.error) == (413, None)
        for connection in connections:
            connection.abort()
    assert len(connections) == 2


async def test_a_header_with_a_line_break_is_refused(egress: MakeEgress, serve: Serve) -> None:
    server = await serve(replies())
    client = egress(server.entry)
    for value in ("a\r\nX-Forged: b", "a\nb", "a\rb"):
        with pytest.raises(ValueError, match="line break"):
            await client.post(server.url(), b"", {"webhook-id": value}, seconds=30)
    assert server.connections == 0


@pytest.mark.parametrize(
    ("head", "forever"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 O", b"K"),
        (OK + b"X-H: ", b"h"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["silence", "status", "header", "interim"],
)
async def test_dripping_head_ends_at_the_deadline(
    posted: Posted, head: bytes, forever: bytes
) -> None:
    started = time.monotonic()
    result = await posted(drips(head, forever), seconds=0.3)
    assert 0.3 <= time.monotonic() - started < PROMPT
    assert (result.status, result.error) == (None, "no answer within 0.3 seconds")
    assert 300 <= result.ms < PROMPT * 1_000


async def test_dripping_body_does_not_undo_the_status(posted: Posted) -> None:
    for seconds in (0.3, 5):
        result = await posted(drips(ENDLESS, b"x"), seconds=seconds)
        assert (result.status, result.error) == (200, None)
        assert result.ms < 4_000


async def test_endless_body_is_cut(posted: Posted) -> None:
    result = await posted(floods(ENDLESS, b"x" * 65_536))
    assert (result.status, result.snippet) == (200, "x" * 1_024)
    assert result.ms < 3_000


async def test_bomb_is_not_unpacked(posted: Posted) -> None:
    result = await posted(replies(bomb(), headers={"Content-Encoding": "gzip"}))
    assert (result.status, result.snippet, result.error) == (200, "", None)


async def test_endless_headers_are_refused(posted: Posted) -> None:
    result = await posted(floods(OK, b"X-Header: " + b"x" * 1_000 + b"\r\n"))
    assert (result.status, result.error) == (None, "its answer is not valid HTTP")


async def test_headers_of_the_answer_are_told(posted: Posted) -> None:
    given = {"Server": "nginx", "Set-Cookie": "a=secret", "X-Long": "x" * 2_000}
    result = await posted(replies(b"ok", headers=given))
    assert "Server: nginx\n" in result.headers
    assert "secret" not in result.headers
    assert len(result.headers) == 1_000


async def test_nobody_listens(egress: MakeEgress, serve: Serve) -> None:
    async with serving(replies()) as server:
        pass
    result = await post(egress(server.entry), server.url())
    assert (result.status, result.error) == (None, "no connection could be made")


async def test_environment_is_ignored(
    egress: MakeEgress, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, server = await serve(replies()), await serve(replies(b"direct"))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv(name.upper(), proxy.url())
    assert (await post(egress(server.entry), server.url())).snippet == "direct"
    assert proxy.connections == 0


async def test_slow_receivers_do_not_delay_others(egress: MakeEgress, serve: Serve) -> None:
    slow, good = await serve(drips(b"", b"")), await serve(replies())
    client = egress(slow.entry, good.entry)
    waiting = [asyncio.create_task(post(client, slow.url(), 60)) for _ in range(150)]
    async with asyncio.timeout(PATIENCE):
        while slow.connections < 150:  # noqa: ASYNC110 - the server counts, it announces nothing
            await asyncio.sleep(0.01)
    assert (await post(client, good.url())).ms < PROMPT * 1_000, "the others have 60 seconds"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


class Silent(asyncio.Transport):
    """Takes everything and sends it nowhere."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.Transport`."""

    def abort(self) -> None:
        """See `asyncio.Transport`."""

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False


@pytest.mark.parametrize("end_of_line", [b"\r\n", b"\n"])
@pytest.mark.parametrize("before", INTERIM)
async def test_a_status_counts_wherever_its_segments_end(before: bytes, end_of_line: bytes) -> None:
    answer = (before + NOTHING_AND_MORE).replace(b"\r\n", end_of_line)
    cuts = [[answer[:at], answer[at:]] for at in range(1, len(answer))]
    for pieces in [*cuts, [answer], [bytes([byte]) for byte in answer]]:
        connection = Connection(asyncio.get_running_loop())
        connection.connection_made(Silent())
        sending = asyncio.create_task(connection.send(b"", math.inf))
        await asyncio.sleep(0)
        for piece in pieces:
            connection.data_received(piece)
        async with asyncio.timeout(PATIENCE):
            await sending
        assert (connection.status, connection.failure) == (204, ""), pieces


@pytest.mark.parametrize("piece", [b"a" * 65_536, b"X-More: a\r\n" * 6_000])
async def test_what_follows_a_body_in_chunks_is_read_for_so_long(piece: bytes) -> None:
    """The parser keeps what it has of a line, and copies it with each piece that comes."""
    loop = asyncio.get_running_loop()
    connection = Connection(loop)
    connection.connection_made(Silent())
    reading = asyncio.create_task(connection.send(b"", math.inf))
    await asyncio.sleep(0)
    connection.data_received(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: ")
    await reading
    beginning = asyncio.create_task(connection.beginning(1_024, loop.time() + PATIENCE))
    await asyncio.sleep(0)
    connection.data_received(piece)
    assert await beginning == b"ok"
    assert (connection.status, connection.reusable) == (200, False)
    assert connection.failure, "it is not read on"
