"""Bodies that something on the way has compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

import httpcore2

ACCEPTED = "gzip, deflate"
PIECE_BYTES = 2**20
"""No more comes of the bytes at once, however well they are compressed."""
_WINDOWS = {"gzip": (31,), "deflate": (15, -15)}
"""How zlib calls them; for deflate some servers leave the head out."""


class Decoding:
    """Undoes what a header ``Content-Encoding`` names; what it does not know, it leaves."""

    def __init__(self, codings: str) -> None:
        names = [name.strip().lower() for name in codings.split(",")]
        self._steps = [_Inflation(_WINDOWS[name]) for name in reversed(names) if name in _WINDOWS]

    def decode(self, data: bytes) -> Iterator[bytes]:
        """What comes of the next bytes; raises `httpcore2.ProtocolError` for damaged ones."""
        pieces: Iterable[bytes] = [data]
        for step in self._steps:
            pieces = chain.from_iterable(map(step.decode, pieces))
        yield from pieces


class _Inflation:
    def __init__(self, windows: Iterable[int]) -> None:
        self._candidates = [zlib.decompressobj(window) for window in windows]

    def decode(self, data: bytes) -> Iterator[bytes]:
        piece = b"begin"
        while piece:
            try:
                piece = self._candidates[0].decompress(data, PIECE_BYTES)
            except zlib.error as error:
                if len(self._candidates) == 1:
                    raise httpcore2.ProtocolError(str(error)) from error
                del self._candidates[0]
                continue
            del self._candidates[1:]
            if piece:
                yield piece
            data = self._candidates[0].unconsumed_tail
