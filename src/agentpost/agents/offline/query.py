"""Questions that a table answers: counting, totals, averages, extremes (pure).

``how many orders in May``, ``total revenue by region``, ``which region has the highest cost``,
``average price in 2024 for Berlin``. A question is answered only when it names something that is
in the table; anything else is left to the text search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from agentpost.agents.offline import limits
from agentpost.agents.offline.cells import MONTHS, worded_date
from agentpost.agents.offline.columns import (
    aggregate,
    default_aggregate,
    measures,
    mentioned,
    tokens,
)
from agentpost.agents.offline.tables import Column, Table
from agentpost.agents.offline.texts import amount, day, listed, plural, words

_HOW = (
    ("count", r"\b(how many|number of|count)\b"),
    ("sum", r"\b(total|sum|sums|altogether|how much|overall|combined)\b"),
    ("mean", r"\b(average|mean|avg|typical|on average)\b"),
    ("median", r"\bmedian\b"),
    ("max", r"\b(highest|most|largest|biggest|maximum|max|best|top|greatest|peak|latest|newest)\b"),
    ("min", r"\b(lowest|least|smallest|minimum|min|worst|fewest|earliest|oldest)\b"),
)
_SAID = {
    "sum": "Total",
    "mean": "Average",
    "median": "Median",
    "max": "Highest",
    "min": "Lowest",
    "count": "Number of rows",
    "distinct": "Different",
}
_GRAIN = re.compile(
    r"\b(?:by|per|each|every|which)\s+(day|month|quarter|year)\b|\b(monthly|yearly)\b"
)
_WORD = re.compile(r"[^\W_]+")
_EMPTY = words(
    "the a an of in on for and or to is are was were be been there how many much what which who "
    "when where total sum average mean number count by per each every with from have has had do "
    "does did all our my file data table attached show me tell give list highest lowest most least "
    "row record entry altogether overall please we us it i you at"
)


# What a total is of, or what it is cut or restricted by, has to be in the table.
_NAMED = re.compile(
    r"\b(?:total|sum|average|mean|median|highest|lowest|largest|smallest|maximum|minimum|max|min|by"
    r"|per|each|every|for|in|of|from|during)\s+(?:(?:of|the|our|my|all)\s+){0,3}([^\W\d_]+)"
)
_GENERAL = words(
    "this that these those it them column value figure amount dataset set sheet spreadsheet csv "
    "excel day month quarter year date time period far total average sum mean median max min"
)


@dataclass(slots=True)
class Filter:
    """A restriction as it was ``said``, and the rows that satisfy it."""

    said: str
    rows: set[int]


@dataclass(slots=True)
class Query:
    """An understood question: aggregate ``how`` of ``measure``, grouped, filtered."""

    how: str
    measure: Column | None
    group: Column | None
    grain: str | None
    filters: list[Filter] = field(default_factory=list)
    pick: str | None = None


def answer(table: Table, question: str) -> str | None:
    """Answer in one or a few lines, or None when the question is not about this table."""
    query = understand(table, question)
    return None if query is None else _run(table, query)


def understand(table: Table, question: str) -> Query | None:
    """Read a question against the columns and values of a table."""
    text = " ".join(question.lower().split())
    hows = [how for how, pattern in _HOW if re.search(pattern, text)]
    kept = filters(table, text)
    named = [m for m in mentioned(text, table.columns) if not _only_value(m.column, kept, text)]
    columns = [mention.column for mention in named]
    numbers = [c for c in columns if c.kind == "number" and c in measures(table)]
    grain_match = _GRAIN.search(text)
    grain = None
    dates = table.of_kind("date")
    if grain_match and dates:
        grain = (grain_match[1] or grain_match[2]).removesuffix("ly")
    group = _group(text, columns, dates if grain else [])
    if not hows and not (numbers and (group or kept)):
        return None
    if not _about(table, text, columns, kept, hows, grain):
        return None
    measure = numbers[0] if numbers else None
    how = hows[0] if hows else default_aggregate(numbers[0])
    pick = None
    extreme = next((h for h in hows if h in ("max", "min")), None)
    if extreme and group is not None:
        # "the highest average price per region" picks a group; the aggregate is the other word.
        pick = extreme
        rest = [h for h in hows if h not in ("max", "min")]
        how = rest[0] if rest else ("count" if measure is None else default_aggregate(measure))
    if how == "count" and measure is not None and _counts(measure, text):
        how = "sum"  # "how many orders" over a column that holds numbers of orders
    elif how == "count":
        kinds = [c for c in columns if c.kind == "text" and c is not group and _counts(c, text)]
        how, measure = ("distinct", kinds[0]) if kinds else ("count", None)
    elif measure is None:
        measure = _only_measure(table, how, columns)
        if measure is None:
            return None
    return Query(how, measure, group, grain, kept, pick)


def _counts(measure: Column, text: str) -> bool:
    """Whether ``how many X`` names the measure itself right after the words."""
    match = re.search(r"\b(?:how many|number of|count(?: of)?)\s+(.{1,60})", text)
    own = tokens(measure.name)
    return match is not None and tokens(match[1])[: len(own)] == own


def _only_measure(table: Table, how: str, columns: Sequence[Column]) -> Column | None:
    dated = [c for c in columns if c.kind == "date"]
    if how in ("max", "min") and dated:
        return dated[0]
    numbers = measures(table)
    return numbers[0] if len(numbers) == 1 else None


def _group(text: str, columns: Sequence[Column], dates: Sequence[Column]) -> Column | None:
    for column in columns:
        if column.kind == "number" and len(column.distinct()) > limits.ANSWER_GROUPS:
            continue
        name = r"[\s_]+".join(re.escape(word) for word in tokens(column.name))
        if re.search(rf"\b(by|per|each|every|for each|which|what|top \d+)\s+(\w+\s)?{name}", text):
            return column
    return dates[0] if dates else None


def _only_value(column: Column, filters: Sequence[Filter], text: str) -> bool:
    """Whether a column's name was matched only inside a value that already filters."""
    return any(set(tokens(column.name)) <= set(tokens(f.said)) for f in filters) and not re.search(
        rf"\b(by|per|each|which)\s+{re.escape(column.name.lower())}", text
    )


def _about(
    table: Table, text: str, columns: Sequence[Column], filters: Sequence[Filter],
    hows: Sequence[str], grain: str | None,
) -> bool:  # fmt: skip
    """Whether enough of the question is explained by the table."""
    known = {word for column in columns for word in tokens(column.name)}
    known |= {word for one in filters for word in tokens(one.said)}
    known |= set(tokens(table.source)) | ({"month", "quarter", "year", "day"} if grain else set())
    empty = {word for plain in _EMPTY for word in tokens(plain)}
    for _, pattern in _HOW:
        empty |= {w for match in re.findall(pattern, text) for w in tokens(match)}
    content = [word for word in tokens(text) if word not in empty]
    explained = [word for word in content if word in known]
    plain = empty | known | _GENERAL | {w for c in table.columns for w in tokens(c.name)}
    if any(word not in plain for said in _NAMED.findall(text) for word in tokens(said)):
        return False
    if not content:
        return bool(hows)  # "how many rows are there?"
    if "count" in hows and filters:
        return len(explained) * 2 >= len(content)  # "how many orders in May": a row is an order
    return bool(columns or filters) and len(explained) * 2 >= len(content)


def filters(table: Table, text: str) -> list[Filter]:
    """The rows that a text in lower case restricts itself to: values of text columns and dates."""
    found = _date_filters(table, text)
    plain = f" {' '.join(_WORD.findall(text))} "
    names = {" ".join(tokens(column.name)) for column in table.columns}
    for column in table.of_kind("text"):
        values = [str(value) for value in column.distinct()]
        if len(values) > 5_000:
            continue
        said = []
        for value in values:
            spoken = " ".join(_WORD.findall(value.lower()))
            wanted = len(spoken) > 1 and spoken not in _EMPTY and spoken not in names
            if wanted and f" {spoken} " in plain:
                said.append(value)
        # "North" is not meant when "North East" was said.
        said = [v for v in said if not any(v != o and v.lower() in o.lower() for o in said)]
        if said:
            rows = {i for i, value in enumerate(column.values) if value in said}
            found.append(Filter(listed(said, "or"), rows))
    return found


def _date_filters(table: Table, text: str) -> list[Filter]:
    columns = table.of_kind("date")
    if not columns:
        return []
    values = columns[0].values
    found: list[Filter] = []

    def keep(said: str, test: Any) -> None:
        rows = {i for i, value in enumerate(values) if isinstance(value, date) and test(value)}
        found.append(Filter(said, rows))

    for number, name in enumerate(MONTHS, 1):
        short = name[:3]
        pattern = rf"\b(in|of|for|during|since|on)?\s*\b({name}|{short})\b"
        match = re.search(pattern, text)
        # "may" alone is a verb: it needs a preposition or a capital, which is gone here.
        if match and (name != "may" or match[1] or re.search(r"\bmay \d{4}\b", text)):
            keep(name.capitalize(), lambda value, n=number: value.month == n)
            break
    years = re.findall(r"\b((?:19|20)\d\d)\b(?!-)", text)
    if years:
        keep(listed(years, "or"), lambda value: str(value.year) in years)
    quarter = re.search(r"\bq([1-4])\b", text)
    if quarter:
        keep(f"Q{quarter[1]}", lambda value: (value.month + 2) // 3 == int(quarter[1]))
    exact = re.search(r"\b\d{4}-\d{2}(-\d{2})?\b", text)
    if exact and (parsed := worded_date(exact[0], day_first=False)):
        wanted, grain = parsed
        keep(exact[0], lambda v: v == wanted if grain == "day" else v.replace(day=1) == wanted)
    return found


def _key(value: float | date | str | None, grain: str | None) -> str | None:
    if isinstance(value, date):
        floored = date(value.year, 1, 1) if grain == "year" else value
        return day(floored, grain or "day")
    return None if value is None else amount(value) if isinstance(value, float) else value


def _run(table: Table, query: Query) -> str:
    rows = set(range(table.rows))
    for one in query.filters:
        rows &= one.rows
    where = f" for {', '.join(one.said for one in query.filters)}" if query.filters else ""
    cells = query.measure.values if query.measure else [1.0] * table.rows
    unit = query.measure.unit if query.measure else ""
    name = query.measure.label if query.measure else "rows"
    subject = f"{_SAID[query.how]} {name}" if query.measure else "Number of rows"
    if query.measure is not None and query.measure.kind == "date":
        days = [v for i, v in enumerate(cells) if i in rows and isinstance(v, date)]
        if not days:
            return f"No {name} found{where}."
        best = max(days) if query.how == "max" else min(days)
        word = "Latest" if query.how == "max" else "Earliest"
        return f"{word} {name}{where}: {day(best, query.measure.grain)}."
    if query.how == "distinct" and query.measure is not None:
        found = list(dict.fromkeys(v for i, v in enumerate(cells) if i in rows and v is not None))
        shown = listed([str(value) for value in found[:10]]) + (" …" if len(found) > 10 else "")
        return f"Different values of {name}{where}: {len(found):,} ({shown})."
    if query.group is None:
        values = [v for i, v in enumerate(cells) if i in rows and isinstance(v, float)]
        result = aggregate(values, query.how)
        if result is None:
            return f"No rows match{where}."
        counted = plural(len(values), "row")
        line = f"{subject}{where}: {amount(result, unit)}"
        line += f" (from {counted})." if query.measure else "."
        if query.how in ("max", "min") and query.measure is not None:
            line += _whose(table, query.measure, rows, result)
        return line
    return _run_groups(table, query, rows, cells, f"{subject}{where}", unit)


def _whose(table: Table, measure: Column, rows: set[int], value: float) -> str:
    """The row an extreme value was found in, described by its text and date columns."""
    row = next(i for i in sorted(rows) if measure.values[i] == value)
    parts = [
        f"{column.label} {day(v, column.grain) if isinstance(v, date) else v}"
        for column in [*table.of_kind("date"), *table.of_kind("text")][:4]
        if (v := column.values[row]) is not None
    ]
    return f" In: {', '.join(parts)}." if parts else ""


def _run_groups(
    table: Table, query: Query, rows: set[int], cells: Sequence[Any], subject: str, unit: str
) -> str:
    assert query.group is not None
    dated = query.group.kind == "date"
    grain = (query.grain or query.group.grain) if dated else None
    groups: dict[str, list[float]] = {}
    first: dict[str, Any] = {}
    for row in sorted(rows):
        key, value = _key(query.group.values[row], grain), cells[row]
        if key is not None and isinstance(value, float):
            groups.setdefault(key, []).append(value)
            first.setdefault(key, query.group.values[row])
    results = {key: aggregate(values, query.how) or 0.0 for key, values in groups.items()}
    if not results:
        return f"{subject}: no rows match."
    by = grain if grain else query.group.label
    if query.pick:
        ranked = sorted(results, key=lambda k: results[k], reverse=query.pick == "max")
        lead = f"{ranked[0]}: {amount(results[ranked[0]], unit)}"
        word = "highest" if query.pick == "max" else "lowest"
        others = [f"{k} {amount(results[k], unit)}" for k in ranked[1:4]]
        tail = f" Next: {listed(others)}." if others else ""
        return f"{lead} ({word} by {by}, {subject[0].lower()}{subject[1:]}).{tail}"
    order = sorted(results, key=(lambda k: first[k]) if dated else (lambda k: -results[k]))
    shown = order[: limits.ANSWER_GROUPS]
    lines = [f"- {key}: {amount(results[key], unit)}" for key in shown]
    if len(order) > len(shown):
        lines.append(f"- … and {len(order) - len(shown):,} more")
    return "\n".join([f"{subject} by {by}:", *lines])
