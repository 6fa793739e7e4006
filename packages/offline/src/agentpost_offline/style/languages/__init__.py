"""What each language writes differently: separators, names of months, the order of a date.

One JSON file for each language; a language without one is written as English.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

DEFAULT = "en"


class Language(msgspec.Struct, frozen=True):
    """How one language writes numbers, dates and lists."""

    direction: str
    decimal: str
    thousands: str
    grouped_from: int
    percent: str
    currency: str
    unit: str
    points: str
    scales: tuple[tuple[float, str], ...]
    months: tuple[str, ...]
    months_short: tuple[str, ...]
    months_narrow: tuple[str, ...]
    weekdays: tuple[str, ...]
    weekdays_short: tuple[str, ...]
    day: str
    day_short: str
    month: str
    quarter: str
    quarter_short: str
    week: str
    week_short: str
    hour: str
    range: str
    separator: str
    last: str
    quotes: tuple[str, str]
    colon: str

    def listed(self, items: list[str] | tuple[str, ...]) -> str:
        """``a``, ``a and b``, ``a, b and c``."""
        if len(items) < 2:
            return "".join(items)
        return self.separator.join(items[:-1]) + self.last + items[-1]


@cache
def language(code: str) -> Language:
    """The language of an ISO 639-1 code; English where there is no file for it."""
    return msgspec.json.decode(data_file(Path(__file__).parent, code), type=Language)


def data_file(folder: Path, code: str) -> bytes:
    """The bytes of a folder's file for a language, or of its English one."""
    known = {path.stem: path for path in folder.glob("*.json")}
    return known.get(code, known[DEFAULT]).read_bytes()


@cache
def words(folder: Path, code: str) -> dict[str, Any]:
    """A folder's words for a language: its English ones where a key is missing."""
    base: dict[str, Any] = msgspec.json.decode(data_file(folder, DEFAULT))
    own: dict[str, Any] = msgspec.json.decode(data_file(folder, code))
    return {**base, **own}
