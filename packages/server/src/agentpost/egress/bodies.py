"""Reading answer bodies of servers we do not trust: bounded in bytes, whatever was packed how."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

from agentpost.egress.connection import Connection
from agentpost.egress.errors import BROKE_OFF, FetchFailed, FetchTooLarge

_PIECE_BYTES = 256 * 1_024
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


async def save_body(connection: Connection, into: Path, bytes_max: int) -> int:
    """Write the unpacked body to a new file and return its size in bytes.

    Raises as `read_body`, and `OSError` when the file cannot be written (`FileExistsError` when it
    exists). After an error there is no file.
    """
    # Not in a thread: a cancelled task could not take back what its thread creates later.
    out = into.open("xb")
    size = 0
    try:
        with out:
            async for piece in _unpack(connection, bytes_max):
                size += len(piece)
                await asyncio.to_thread(out.write, piece)
    except BaseException:
        into.unlink(missing_ok=True)  # no await: the task may be cancelled
        raise
    return size


async def read_body(connection: Connection, bytes_max: int) -> bytes:
    """The unpacked body. Raises `FetchTooLarge` as soon as it is known, `FetchFailed` when the body
    breaks off or is packed in an unknown way."""
    return b"".join([piece async for piece in _unpack(connection, bytes_max)])


class StreamingAnswer:
    """An answer that is read while it comes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.status = connection.status

    async def lines(self, bytes_max: int) -> AsyncIterator[bytes]:
        """The lines of the unpacked body without their ends; raises as `read_body`."""
        part = b""
        async for piece in _unpack(self._connection, bytes_max):
            *lines, part = (part + piece).split(b"\n")
            for line in lines:
                yield line
        if part:
            yield part


def packing(connection: Connection) -> str:
    """How the body is packed; "" when it is not."""
    encoding = (connection.header(b"content-encoding") or "").strip().lower()
    return "" if encoding == "identity" else encoding


async def _unpack(connection: Connection, bytes_max: int) -> AsyncIterator[bytes]:
    """The body in bounded pieces. We ask for a plain body, but some stores serve what they hold."""
    too_large = FetchTooLarge(f"it is larger than {bytes_max:,} bytes")
    if int(connection.header(b"content-length") or 0) > bytes_max:
        raise too_large
    size = 0
    async for piece in _unpacked_pieces(connection):
        size += len(piece)
        if size > bytes_max:
            raise too_large
        yield piece


async def _unpacked_pieces(connection: Connection) -> AsyncIterator[bytes]:
    encoding = packing(connection)
    if not encoding:
        async for piece in connection.pieces():
            yield piece
        return
    if encoding not in _PACKED:
        raise FetchFailed("it came packed in an unknown way")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        async for chunk in connection.pieces():
            while piece := unpacker.decompress(chunk, _PIECE_BYTES):
                yield piece
                chunk = unpacker.unconsumed_tail
            if unpacker.eof:
                return  # what follows would pile up unread
    except zlib.error as error:
        raise FetchFailed("it could not be unpacked") from error
    raise FetchFailed(BROKE_OFF)
