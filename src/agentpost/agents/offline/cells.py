"""Cells of a table to numbers and dates, decided per column (pure).

One cell alone cannot tell ``1.234`` (German thousands) from ``1.234`` (a decimal), nor
``03/04/2025`` in March from April; the other cells of its column usually can.
"""

from __future__ import annotations

import math
import re
from calendar import month_name
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeAlias

Cell: TypeAlias = Any
ColumnKind: TypeAlias = Literal["number", "date", "text"]

MONTHS = [name.lower() for name in month_name[1:]]
_MONTH_NUMBERS = {name[:length]: n for n, name in enumerate(MONTHS, 1) for length in (3, 4, 9)}
_BLANKS = frozenset(("", "-", "–", "—", "n/a", "na", "null", "none", "nan", "#n/a"))
_CURRENCIES = "$€£¥₹₽₩"
_NUMBER = re.compile(r"[+-]?(\d{1,3}(?:[.,'’\s]\d{3})+|\d+)?(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"\d,(\d{1,2}|\d{4,})$|\.\d{3},\d+$")
_DECIMAL_POINT = re.compile(r"\.(\d{1,2}|\d{4,})$|,\d{3}\.\d+$")
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ]\d{1,2}:\d{2}.*)?")
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:[T ]\d{1,2}:\d{2}.*)?")
_QUARTER = re.compile(r"(?:Q([1-4])[ -/]?(\d{4})|(\d{4})[ -/]?Q([1-4]))", re.IGNORECASE)
_WORDED = re.compile(
    r"(?:(\d{1,2})\.?[ -])?([A-Za-z]{3,9})\.?[ -](?:(\d{1,2})(?:st|nd|rd|th)?,? )?'?(\d{4}|\d{2})"
)
# A column is typed when at least this share of its filled cells fit.
_ENOUGH = 0.9


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed column; ``bad`` cells did not fit and are None, ``ambiguous``: day and month."""

    kind: ColumnKind
    values: list[float | date | str | None]
    unit: str = ""
    grain: str = "day"
    bad: int = 0
    ambiguous: bool = False


def is_blank(cell: Cell) -> bool:
    """Whether a cell stands for "no value"."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in _BLANKS)


def looks_typed(cell: str) -> bool:
    """Whether a string is a number or a date rather than a name (used to find headers)."""
    if re.fullmatch(r"(19|20)\d\d", cell):
        return False  # years are common column names
    return number(cell, ",") is not None or worded_date(cell, day_first=False) is not None


def number(text: str, comma: str) -> float | None:
    """A number with ``comma`` as the decimal separator being ``,`` (thousands) or ``.``.

    Args:
        text: as found, with currency signs, percent signs, blanks, brackets for negatives.
        comma: the *thousands* separator, ``,`` or ``.``.
    """
    stripped = text.strip().strip(_CURRENCIES + "%").strip()
    negative = stripped.startswith("(") and stripped.endswith(")")
    stripped = stripped.strip("()").strip().strip(_CURRENCIES).strip().replace("−", "-")
    stripped = re.sub(rf"^([+-])[{_CURRENCIES}]\s*", r"\1", stripped)
    if not stripped or not _NUMBER.fullmatch(stripped) or not re.search(r"\d", stripped):
        return None
    stripped = re.sub(r"['’\s]", "", stripped).replace(comma, "")
    try:
        value = float(stripped.replace(",", "."))
    except ValueError:
        return None
    if not math.isfinite(value):
        return None  # "1e999": no sum or axis could take it
    return -value if negative else value


def worded_date(text: str, *, day_first: bool) -> tuple[date, str] | None:
    """A date and its grain from the usual spellings, else None."""
    text = text.strip()
    parts: tuple[int, int, int] | None = None
    grain = "day"
    if match := _ISO.fullmatch(text):
        parts = (int(match[1]), int(match[2]), int(match[3] or 1))
        grain = "day" if match[3] else "month"
    elif match := _SLASHED.fullmatch(text):
        one, two = int(match[1]), int(match[3])
        day, month = (one, two) if day_first or match[2] == "." else (two, one)
        parts = (int(match[4]), month, day)
    elif match := _QUARTER.fullmatch(text):
        year, quarter = (match[2], match[1]) if match[1] else (match[3], match[4])
        parts, grain = (int(year), 3 * int(quarter) - 2, 1), "quarter"
    elif (match := _WORDED.fullmatch(text)) and match[2].lower() in _MONTH_NUMBERS:
        year_number = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
        day_text = match[1] or match[3]
        parts = (year_number, _MONTH_NUMBERS[match[2].lower()], int(day_text or 1))
        grain = "day" if day_text else "month"
    if parts is None:
        return None
    try:
        return date(*parts), grain
    except ValueError:
        return None


def type_column(raw: list[Cell], name: str) -> Typed:
    """Decide what a column is and convert it."""
    filled = [cell for cell in raw if not is_blank(cell)]
    if all(isinstance(cell, (datetime, date)) for cell in filled):
        days = [None if is_blank(c) else c.date() if isinstance(c, datetime) else c for c in raw]
        return Typed("date", list(days), grain=_coarser(list(days)))
    words = [str(cell).strip() for cell in filled]
    if _is_years(words, name):
        years = [None if is_blank(c) else date(int(float(str(c))), 1, 1) for c in raw]
        return Typed("date", list(years), grain="year")
    if not any(re.fullmatch(r"0\d+", word) for word in words):
        typed = _as_numbers(raw, words)
        if typed is not None:
            return typed
    return _as_dates(raw, words) or Typed(
        "text", [None if is_blank(cell) else " ".join(str(cell).split()) for cell in raw]
    )


def _is_years(words: list[str], name: str) -> bool:
    named = re.search(r"\b(year|years|jahr|yr)\b", name.replace("_", " ").lower()) is not None
    return named and all(re.fullmatch(r"(1[5-9]|20|21)\d\d(\.0)?", word) for word in words)


def _convert(
    raw: list[Cell], convert: Callable[[Cell], float | date | None]
) -> tuple[list[float | date | str | None], int] | None:
    values: list[float | date | str | None] = []
    filled = bad = 0
    for cell in raw:
        if is_blank(cell):
            values.append(None)
            continue
        filled += 1
        value = convert(cell)
        bad += value is None
        values.append(value)
        if bad > 20 and bad > filled * 0.5:
            return None
    return (values, bad) if filled - bad >= filled * _ENOUGH else None


def _as_numbers(raw: list[Cell], words: list[str]) -> Typed | None:
    bare = [word.strip(_CURRENCIES + "% ") for word in words[:1000]]
    comma_votes = sum(bool(_DECIMAL_COMMA.search(word)) for word in bare)
    point_votes = sum(bool(_DECIMAL_POINT.search(word)) for word in bare)
    thousands = "." if comma_votes > point_votes else ","

    def convert(cell: Cell) -> float | None:
        if isinstance(cell, (bool, datetime, date)):
            return None
        if isinstance(cell, (int, float)):
            return float(cell)
        return number(str(cell), thousands)

    converted = _convert(raw, convert)
    if converted is None:
        return None
    units = {_unit(word) for word in words}
    return Typed("number", converted[0], unit=units.pop() if len(units) == 1 else "",
                 bad=converted[1])  # fmt: skip


def _coarser(values: list[float | date | str | None]) -> str:
    """``month`` for days that are all the first of one, ``year`` for those of January."""
    days = {value for value in values if isinstance(value, date)}
    if len(days) < 3 or any(value.day != 1 for value in days):
        return "day"
    return "year" if all(value.month == 1 for value in days) else "month"


def _unit(word: str) -> str:
    if word.endswith("%"):
        return "%"
    return next((sign for sign in _CURRENCIES if sign in word), "")


def _as_dates(raw: list[Cell], words: list[str]) -> Typed | None:
    slashed = [m for word in words if (m := _SLASHED.fullmatch(word)) and m[2] != "."]
    day_first = any(int(match[1]) > 12 for match in slashed)
    ambiguous = bool(slashed) and not day_first and all(int(m[3]) <= 12 for m in slashed)
    grains: set[str] = set()

    def convert(cell: Cell) -> date | None:
        if isinstance(cell, datetime):
            return cell.date()
        if isinstance(cell, date):
            return cell
        found = worded_date(str(cell), day_first=day_first)
        if found is None:
            return None
        grains.add(found[1])
        return found[0]

    converted = _convert(raw, convert)
    if converted is None:
        return None
    grain = next((g for g in ("day", "month", "quarter") if g in grains), "day")
    grain = _coarser(converted[0]) if grain == "day" else grain
    return Typed("date", converted[0], grain=grain, bad=converted[1], ambiguous=ambiguous)
