"""Which columns a request talks about, and what a column is good for (pure)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agentpost.agents.offline.tables import Column, Table
from agentpost.agents.offline.texts import words

_IDENTIFIERS = words("id ids nr no number index idx zip postcode plz code key uuid phone row")
_AVERAGED = words(
    "rate price average avg mean share percent percentage pct score rating temperature temp ratio "
    "margin age median index speed level humidity pressure"
)
# Words that say what to do with data; they name a column only as part of a longer name.
_TASK_WORDS = words(
    "total sum count average mean number chart graph plot line bar pie data file top by per and "
    "date time value values name first last most least"
)


def stem(word: str) -> str:
    """The word without a plural ending: enough to match ``orders`` with ``Order``."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word


def tokens(text: str) -> list[str]:
    """The stemmed lower-case words of a text; ``camelCase`` and ``snake_case`` are cut."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", text).replace("_", " ").lower()
    return [stem(word) for word in re.findall(r"[^\W_]+", spaced)]


@dataclass(frozen=True, slots=True)
class Mention:
    """A column found in a text, at a word position, by its whole name or by one word of it."""

    column: Column
    position: int
    whole: bool


def mentioned(text: str, columns: Sequence[Column]) -> list[Mention]:
    """The columns a text names, in the order it names them."""
    said = tokens(text)
    named = {column.name: tokens(column.name) for column in columns}
    found: list[Mention] = []
    claimed: set[int] = set()
    for column in sorted(columns, key=lambda c: -len(named[c.name])):
        name = named[column.name]
        for start in range(len(said) - len(name) + 1):
            span = set(range(start, start + len(name)))
            if name and said[start : start + len(name)] == name and not span & claimed:
                found.append(Mention(column, start, whole=True))
                claimed |= span
                break
    known = {mention.column.name for mention in found}
    for column in columns:
        if column.name in known:
            continue
        others = {w for name, ws in named.items() if name != column.name for w in ws}
        own = [w for w in named[column.name] if len(w) > 2 and w not in others | _TASK_WORDS]
        at = next((i for i, w in enumerate(said) if w in own and i not in claimed), None)
        if at is not None:
            found.append(Mention(column, at, whole=False))
            claimed.add(at)
    return sorted(found, key=lambda mention: mention.position)


def is_identifier(column: Column) -> bool:
    """Whether a number column only names its rows, so that sums of it mean nothing."""
    name = tokens(column.name)
    if name and (name[-1] in _IDENTIFIERS or "".join(name) in _IDENTIFIERS):
        return True
    values = column.values
    steps = [
        isinstance(a, float) and isinstance(b, float) and b - a == 1 for a, b in pairwise(values)
    ]
    return len(steps) > 3 and all(steps) and values[0] in (0.0, 1.0)


def measures(table: Table) -> list[Column]:
    """The number columns worth adding up or averaging."""
    return [column for column in table.of_kind("number") if not is_identifier(column)]


def default_aggregate(column: Column) -> str:
    """``mean`` for rates, prices and the like, ``sum`` for amounts."""
    return "mean" if column.unit == "%" or set(tokens(column.name)) & _AVERAGED else "sum"


def aggregate(values: Sequence[float], how: str) -> float | None:
    """``sum mean median min max count`` of the values; None for nothing (but a count is 0)."""
    if how == "count":
        return float(len(values))
    if not values:
        return None
    if how == "sum":
        return float(sum(values))
    if how == "mean":
        return float(statistics.fmean(values))
    if how == "median":
        return float(statistics.median(values))
    return float(min(values) if how == "min" else max(values))
