"""What each language writes differently, and what is said in it: one JSON file for each. A language
without a file is written as English."""

from collections.abc import Sequence
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

    def join(self, items: Sequence[str], last: str | None = None) -> str:
        """``a``, ``a and b``, ``a, b and c``; ``last`` in place of ``and``."""
        if len(items) < 2:
            return "".join(items)
        return self.separator.join(items[:-1]) + (last or self.last) + items[-1]


@cache
def texts(section: str, code: str) -> dict[str, Any]:
    """A section of a language's file: its English texts where a key is missing."""
    files = {path.stem: path for path in Path(__file__).parent.glob("*.json")}
    base, own = (msgspec.json.decode(files.get(one, files[DEFAULT]).read_bytes())[section]
                 for one in (DEFAULT, code))  # fmt: skip
    return {**base, **own}


@cache
def language(code: str) -> Language:
    """The language of an ISO 639-1 code; English where there is no file for it."""
    return msgspec.convert(texts("writing", code), Language)
