"""Reading answer bodies of servers we do not trust: bounded in bytes, whatever was packed how."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from agentpost.egress.errors import FetchFailed, FetchTooLarge, explain

_PIECE_BYTES = 256 * 1_024
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


async def save_body(response: aiohttp.ClientResponse, into: Path, bytes_max: int) -> int:
    """Write the unpacked body to a new file and return its size in bytes.

    Raises `FetchTooLarge` as soon as it is known, `FetchFailed` when the body breaks off or is
    packed in an unknown way, `OSError` when the file cannot be written (`FileExistsError` when it
    exists). After an error there is no file.
    """
    if (response.content_length or 0) > bytes_max:
        raise FetchTooLarge(_too_large(bytes_max))
    # Not in a thread: a cancelled task could not take back what its thread creates later.
    out = into.open("xb")
    size = 0
    try:
        with out:
            async for piece in _unpack(response):
                size += len(piece)
                if size > bytes_max:
                    raise FetchTooLarge(_too_large(bytes_max))
                await asyncio.to_thread(out.write, piece)
    except BaseException:
        into.unlink(missing_ok=True)  # no await: the task may be cancelled
        raise
    return size


async def read_body(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """The unpacked body; raises as `save_body`."""
    read = bytearray()
    async for piece in _unpack(response):
        read += piece
        if len(read) > bytes_max:
            raise FetchTooLarge(_too_large(bytes_max))
    return bytes(read)


class StreamingAnswer:
    """An answer that is read while it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    async def lines(self, bytes_max: int) -> AsyncIterator[bytes]:
        """The lines of the unpacked body without their ends; raises `FetchFailed`, and
        `FetchTooLarge` when all have more bytes."""
        read, part = 0, b""
        async for piece in _unpack(self._response):
            read += len(piece)
            if read > bytes_max:
                raise FetchTooLarge(_too_large(bytes_max))
            *lines, part = (part + piece).split(b"\n")
            for line in lines:
                yield line
        if part:
            yield part


def _too_large(bytes_max: int) -> str:
    return f"it is larger than {bytes_max:,} bytes"


async def _raw(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    except (aiohttp.ClientError, OSError) as error:
        raise explain(error) from error


async def _unpack(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body in bounded pieces. We ask for a plain body, but some stores serve what they hold."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if encoding == "identity":
        async for piece in _raw(response):
            yield piece
        return
    if encoding not in _PACKED:
        raise FetchFailed("it came packed in an unknown way")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        async for chunk in _raw(response):
            while piece := unpacker.decompress(chunk, _PIECE_BYTES):
                yield piece
                chunk = unpacker.unconsumed_tail
            if unpacker.eof:
                return  # what follows would pile up unread
    except zlib.error as error:
        raise FetchFailed("it could not be unpacked") from error
    raise FetchFailed("its answer broke off")
