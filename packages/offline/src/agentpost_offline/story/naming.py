"""What columns and measures are called in a sentence or under a title."""

from collections.abc import Sequence

from msgspec.structs import replace

from agentpost_offline.data.formulas import Sign, by_name, is_ratio
from agentpost_offline.data.model import Column, Table
from agentpost_offline.data.wording import filter_text, unit_of, upper
from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Measure, Query
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import language, texts

COMPUTED = "computed"
"""The id of a table whose columns are called what they are: the names of measures were chosen."""
_LOWERED = ("en", "es", "fr")


def column(name: str | None, table: Table) -> Column | None:
    """The table's column of that name."""
    return by_name(table).find(name)


def label(name: str | None, table: Table) -> str:
    """What people read for a column."""
    own = column(name, table)
    return own.label if own is not None else str(name or "")


def measure(one: Measure, table: Table, code: str = "en") -> str:
    """``Revenue``, ``Average margin``, ``Number of rows``."""
    name = label(one.column, table)
    if table.id == COMPUTED:
        return name
    tongue = texts("story", code)["measures"]
    if one.column is None:
        base = tongue["rows"]
    else:
        own = column(one.column, table)
        is_sum = own is not None and is_ratio(own)
        pattern = tongue[(Aggregate.SUM if is_sum else one.aggregate).value]
        base = pattern.format(name if pattern.startswith("{") else inner(name, code))
    if one.derived in (None, Derivation.AVERAGE):  # of groups, each shown by itself
        return str(base)
    return str(tongue[one.derived.value].format(inner(str(base), code)))


def unit(one: Measure, table: Table) -> str | None:
    """The unit of a measure's values."""
    return unit_of(one, column(one.column, table))


def inner(name: str, code: str = "en") -> str:
    """A label inside a sentence: without its capital, unless it is a name or an acronym, or the
    language keeps it."""
    for sign in Sign:
        if f" {sign} " in name:  # a figure of two columns
            return f" {sign} ".join(inner(part, code) for part in name.split(f" {sign} "))
    if code not in _LOWERED or len(name) < 2 or name[1].isupper() or not name[1].isalpha():
        return name
    first = name.split(maxsplit=1)[0]
    return name if any(c.isupper() for c in first[1:]) else name[0].lower() + name[1:]


def subtitle(query: Query, table: Table, code: str = "en", *, span: str = "") -> str:
    """Measure, unit, grouping, filters and period: what a picture shows."""
    tongue = texts("story", code)["subtitle"]
    names = [measure(m, table, code) for m in query.measures]
    what = language(code).join([names[0], *(inner(n, code) for n in names[1:])])
    units = {unit(m, table) for m in query.measures}
    shared = units.pop() if len(units) == 1 else None
    by = [inner(label(name, table), code) for name in query.groups]
    if query.time is not None:
        grain = query.grain or Grain.DAY
        what = tongue["per"].format(what, texts("story", code)["grains"][grain.value])
    if by:
        what = tongue["by"].format(what, language(code).join(by))
    parts = [what]
    if shared and shared != numbers.PERCENT and shared.casefold() not in what.casefold():
        parts.append(tongue["unit"].format(shared))
    parts.extend(condition(f, table, code) for f in query.filters)
    if span:
        parts.append(span)
    return upper(language(code).separator.join(parts))


def condition(one: Filter, table: Table, code: str = "en") -> str:
    """A filter in words: ``country = Spain``, ``margin ≥ 20``, ``Q2 2025``."""
    own = by_name(table)[one.column]
    return filter_text(one, replace(own, label=inner(own.label, code)), code)


def row_count(table: Table, code: str = "en") -> str:
    """As in ``600 rows``."""
    tongue = texts("story", code)
    rows = numbers.full(table.rows, None, code)
    return str(tongue["row"] if table.rows == 1 else tongue["rows"].format(rows))


def source(tables: Sequence[Table], code: str = "en") -> str:
    """Where figures come from: ``orders.csv, 600 rows``."""
    return "; ".join(f"{table.name}, {row_count(table, code)}" for table in tables)


def source_line(tables: Sequence[Table], code: str = "en") -> str:
    """``Source: orders.csv, 600 rows``."""
    return str(texts("story", code)["source"].format(source(tables, code)))


def with_rows(table: Table, code: str = "en") -> str:
    """What was read of a table: ``orders.csv (600 rows)``."""
    return f"{table.name} ({row_count(table, code)})"
