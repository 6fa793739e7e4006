"""Which characters a font file has a glyph for: its own character map, read from the file.

Only maps that give each character a glyph of its own are read (formats 4 and 12). A last-resort
font, which shows every character as one and the same box, has another format and counts for
nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Charmap:
    """A font's character map: sorted ``starts`` and ``ends`` of its ranges of code points, with
    those inside them that have no glyph."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    holes: frozenset[int]

    def has(self, code: int) -> bool:
        """Whether the font has a glyph for a code point."""
        at = bisect_right(self.starts, code) - 1
        return at >= 0 and code <= self.ends[at] and code not in self.holes


_NOTHING = Charmap((), (), frozenset())


@cache
def charmap(path: Path) -> Charmap:
    """The character map of a file's first font; an empty one for a broken file."""
    try:
        table = _table(path)
        return _best(table) if table else _NOTHING
    except (OSError, struct.error, IndexError):
        return _NOTHING


def _table(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(16)
        start = struct.unpack_from(">I", head, 12)[0] if head[:4] == b"ttcf" else 0
        file.seek(start)
        count = struct.unpack_from(">H", file.read(12), 4)[0]
        records = file.read(16 * count)
        for n in range(count):
            tag, _, offset, length = struct.unpack_from(">4sIII", records, 16 * n)
            if tag == b"cmap":
                file.seek(offset)
                return file.read(length)
    return b""


def _best(table: bytes) -> Charmap:
    count = struct.unpack_from(">H", table, 2)[0]
    places: dict[int, int] = {}
    for n in range(count):
        platform, encoding, at = struct.unpack_from(">HHI", table, 4 + 8 * n)
        if platform == 0 or (platform == 3 and encoding in (1, 10)):
            places[struct.unpack_from(">H", table, at)[0]] = at
    if 12 in places:
        return _groups(table, places[12])
    return _segments(table, places[4]) if 4 in places else _NOTHING


def _segments(table: bytes, at: int) -> Charmap:
    """Format 4: segments of the basic plane."""
    count = struct.unpack_from(">H", table, at + 6)[0] // 2
    shape = f">{count}H"
    ends = struct.unpack_from(shape, table, at + 14)
    starts = struct.unpack_from(shape, table, at + 16 + 2 * count)
    deltas = struct.unpack_from(shape, table, at + 16 + 4 * count)
    offsets_at = at + 16 + 6 * count
    offsets = struct.unpack_from(shape, table, offsets_at)
    holes = {0xFFFF}
    for n in range(count):
        for code in range(starts[n], ends[n] + 1) if offsets[n] else ():
            place = offsets_at + 2 * n + offsets[n] + 2 * (code - starts[n])
            if place + 2 > len(table) or not struct.unpack_from(">H", table, place)[0]:
                holes.add(code)
        if not offsets[n]:
            none = -deltas[n] & 0xFFFF
            if starts[n] <= none <= ends[n]:
                holes.add(none)
    return Charmap(starts, ends, frozenset(holes))


def _groups(table: bytes, at: int) -> Charmap:
    """Format 12: groups of all planes."""
    count = min(struct.unpack_from(">I", table, at + 12)[0], (len(table) - at) // 12)
    groups = list(struct.iter_unpack(">III", table[at + 16 : at + 16 + 12 * count]))
    holes = frozenset(first for first, _, glyph in groups if not glyph)
    return Charmap(tuple(g[0] for g in groups), tuple(g[1] for g in groups), holes)
