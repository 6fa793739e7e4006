"""Bodies that something on the way has compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

import httpcore2

ACCEPTED = "gzip, deflate"
PIECE_BYTES = 2**20
"""No more comes of the bytes at once, however well they are compressed."""
_GZIP, _ZLIB, _RAW = 31, 15, -15
"""How zlib calls the kinds."""
_CODINGS = ("gzip", "deflate")
_HEAD_BYTES = 2
_GZIP_HEAD = b"\x1f\x8b"


class Decoding:
    """Undoes what a header ``Content-Encoding`` names; what it does not know, it leaves."""

    def __init__(self, codings: str) -> None:
        names = [name.strip().lower() for name in codings.split(",")]
        self._steps = [_Inflation(name) for name in reversed(names) if name in _CODINGS]

    def decode(self, data: bytes) -> Iterator[bytes]:
        """What comes of the next bytes; raises `httpcore2.ProtocolError` for damaged ones."""
        pieces: Iterable[bytes] = [data]
        for step in self._steps:
            pieces = chain.from_iterable(map(step.decode, pieces))
        yield from pieces

    def close(self) -> None:
        """Raises `httpcore2.RemoteProtocolError` when the bytes ended too early."""
        for step in self._steps:
            step.close()


class _Inflation:
    def __init__(self, name: str) -> None:
        self._name = name
        self._head = b""
        self._inflater: zlib._Decompress | None = None

    def decode(self, data: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            self._head += data
            if len(self._head) < _HEAD_BYTES:
                return
            data, self._head = self._head, b""
            self._inflater = zlib.decompressobj(self._window(data))
        inflater, piece = self._inflater, b"begin"
        while piece:
            try:
                piece = inflater.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise httpcore2.ProtocolError(str(error)) from error
            if piece:
                yield piece
            data = inflater.unconsumed_tail
        if inflater.eof and inflater.unused_data.startswith(_GZIP_HEAD):  # the next file of several
            self._inflater = None
            yield from self.decode(inflater.unused_data)

    def close(self) -> None:
        if self._head or (self._inflater is not None and not self._inflater.eof):
            raise httpcore2.RemoteProtocolError("its compressed bytes ended too early")

    def _window(self, data: bytes) -> int:
        if self._name == "gzip":
            return _GZIP
        has_head = data[0] & 15 == 8 and int.from_bytes(data[:_HEAD_BYTES]) % 31 == 0
        return _ZLIB if has_head else _RAW  # some servers leave the head out
