"""Words for people: numbers, names and lists as they are written in a sentence (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date


def words(text: str) -> frozenset[str]:
    """A set of words from one string: how the agent's vocabularies are written down."""
    return frozenset(text.split())


_ACRONYMS = words("id url api usd eur gbp kpi roi vat sku uk us eu co2 ai hr it b2b")
_UNITS = words("cm h k m bn usd eur gbp pct kg km ms gb mb")


def humanise(name: str) -> str:
    """A column name as a title: ``revenue_k`` becomes ``Revenue (k)``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", name.strip())
    parts = re.sub(r"[_\s]+", " ", spaced).strip().split(" ")
    if not parts or not parts[0]:
        return name
    unit = ""
    if len(parts) > 1 and parts[-1].lower() in _UNITS and "_" in name:
        unit = parts.pop()
        unit = "%" if unit.lower() == "pct" else unit
        unit = f" ({unit.upper() if unit.lower() in _ACRONYMS else unit})"
    if name.isupper() or name.islower() or "_" in name or spaced != name.strip():
        parts = [w.upper() if w.lower() in _ACRONYMS else w.lower() for w in parts]
    first = parts[0]
    parts[0] = first if first[0].isupper() else first[0].upper() + first[1:]
    return " ".join(parts) + unit


def amount(value: float, unit: str = "") -> str:
    """A number for a sentence: thousands separated, at most two decimals, with its unit."""
    if abs(value - round(value)) < 1e-9 or abs(value) >= 100_000:
        text = f"{round(value):,}"
    elif abs(value) >= 0.01:
        text = f"{value:,.2f}".rstrip("0").rstrip(".")
    else:
        text = f"{value:.3g}"
    if unit == "%":
        return f"{text}%"
    return f"-{unit}{text[1:]}" if unit and text.startswith("-") else f"{unit}{text}"


def short_amount(value: float, unit: str = "") -> str:
    """A number for a label in a picture: 1.2M, 34k, 5.6."""
    for limit, letter in ((1e9, "bn"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if letter == "k" else limit)
            digits = 0 if abs(scaled) >= 100 else 1
            text = f"{scaled:.{digits}f}"
            text = text.removesuffix(".0") + letter
            break
    else:
        text = amount(round(value, 1) if abs(value) >= 10 else value)
    if unit == "%":
        return f"{text}%"
    return f"-{unit}{text[1:]}" if unit and text.startswith("-") else f"{unit}{text}"


def day(value: date, grain: str = "day") -> str:
    """A date as precise as its grain."""
    if grain == "year":
        return str(value.year)
    if grain == "quarter":
        return f"Q{(value.month + 2) // 3} {value.year}"
    if grain == "month":
        return f"{value:%b} {value.year}"
    return f"{value.day} {value:%b} {value.year}"


def plural(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``1,200 entries``."""
    if count == 1:
        return f"1 {noun}"
    ending = noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
    return f"{count:,} {ending}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def shortened(text: str, length: int) -> str:
    """The text on one line, cut at a word with an ellipsis when longer than ``length``."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length * 0.5 else cut).rstrip(" ,;:.") + "…"


def slug(name: str, fallback: str) -> str:
    """A safe file name stem: letters, digits and dashes, at most 48 characters."""
    stem = name.rpartition(".")[0] or name
    cleaned = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:48].strip("-")
    return cleaned or fallback
