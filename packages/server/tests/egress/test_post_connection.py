"""Answers to webhooks, piece by piece (spec: Webhook events 6)."""

import asyncio

import pytest

from agentpost.egress.post_connection import PostConnection
from tests.egress.hostile import INTERIM, NOTHING_AND_MORE, OK
from tests.waiting import PATIENCE


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
        connection = PostConnection(asyncio.get_running_loop())
        connection.connection_made(Silent())
        ended = connection.exchange(b"", PATIENCE)
        for piece in pieces:
            connection.data_received(piece)
        assert ended.done(), pieces
        assert (connection.status, connection.failure) == (204, ""), pieces


@pytest.mark.parametrize("piece", [b"a" * 65_536, b"X-More: a\r\n" * 6_000])
async def test_what_follows_a_body_in_chunks_is_read_for_so_long(piece: bytes) -> None:
    """The parser keeps what it has of a line, and copies it with each piece that comes."""
    connection = PostConnection(asyncio.get_running_loop())
    connection.connection_made(Silent())
    ended = connection.exchange(b"", PATIENCE)
    connection.data_received(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: ")
    assert not ended.done()
    connection.data_received(piece)
    assert ended.done()
    assert (connection.status, connection.body, connection.reusable) == (200, b"ok", False)
