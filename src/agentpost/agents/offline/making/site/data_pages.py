"""Tables as pages: every row, in a form that the page's own script filters and sorts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentpost.agents.offline.data.model import Cell, Column, Kind, Role, Table
from agentpost.agents.offline.making.site import rendering
from agentpost.agents.offline.making.site.rendering import Fragment
from agentpost.agents.offline.style import numbers
from agentpost.agents.offline.style.languages import language

if TYPE_CHECKING:
    from agentpost.agents.offline.data.dataset import Dataset

MOST_ROWS = 20_000
_MOST_CELLS = 400_000
_FIRST = 50
_MOST_VALUES = 60
_FILTERS = 5
_CELL = 500


def fragment(
    dataset: Dataset, table: Table, slug: str, texts: dict[str, Any], code: str
) -> Fragment:
    """The table's page; of a large one as many rows as a browser carries well."""
    limit = max(1, min(MOST_ROWS, _MOST_CELLS // max(1, len(table.columns))))
    _, rows = dataset.cells(table.id, limit=limit)
    known = {column.name: column for column in table.columns}
    columns = [known[column.name] for column in table.columns]
    digits = [_digits([row[at] for row in rows]) for at in range(len(columns))]
    cells = [[_bounded(cell) for cell in row] for row in rows]
    count = numbers.full(table.rows, None, code)
    notes = [str(note) for note in table.notes]
    if len(rows) < table.rows:
        shown = numbers.full(len(rows), None, code)
        notes.insert(0, texts["cut"].format(count=shown, all=count))
    described = [
        {
            "label": _label(column),
            "number": column.kind is Kind.NUMBER,
            "digits": places,
            "grouped": column.role not in (Role.IDENTIFIER, Role.TIME),
            "sum": column.role is Role.AMOUNT,
        }
        for column, places in zip(columns, digits, strict=True)
    ]
    title = texts["data"].format(name=_title(table))
    about = texts["table"].format(rows=count, columns=len(columns))
    body = rendering.rendered(
        "data.html",
        title=title,
        about=about,
        notes=notes,
        slug=slug,
        columns=described,
        filters=_filters(columns, cells),
        first=[_shown(row, described, code) for row in cells[:_FIRST]],
        rows=rendering.script_json({"columns": described, "rows": cells}),
        texts=texts,
    )
    words = " ".join(dict.fromkeys(
        str(value) for column in columns for value in (_label(column), *column.values[:40])
    ))  # fmt: skip
    return Fragment(slug, title, body, "data", about, words)


def _title(table: Table) -> str:
    stem, _, sheet = table.name.partition(", sheet ")
    if sheet:
        return sheet
    name = stem.rpartition(".")[0] or stem
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def _label(column: Column) -> str:
    unit = column.unit
    return f"{column.label} ({unit})" if unit and unit not in column.label else column.label


def _bounded(cell: Cell) -> Cell:
    return cell[:_CELL] if isinstance(cell, str) else cell


def _digits(values: Sequence[Cell]) -> int:
    """Decimals of a column: two where a value has some."""
    most = 0
    for value in values[:2000]:
        if isinstance(value, float) and value != int(value):
            most = 2 if abs(value) < 1e6 else most
    return most


def _filters(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[dict[str, Any]]:
    """Columns with few values, each with those values in their order."""
    found = []
    for at, column in enumerate(columns):
        if column.role is not Role.CATEGORY or not 1 < column.distinct <= _MOST_VALUES:
            continue
        values = sorted({str(row[at]) for row in rows if row[at] is not None})
        if 1 < len(values) <= _MOST_VALUES:
            found.append({"at": at, "label": column.label, "values": values})
    return found[:_FILTERS]


def _shown(row: Sequence[Cell], columns: Sequence[dict[str, Any]], code: str) -> list[str]:
    """The row as it stands before the script runs, and where it never does."""
    tongue = language(code)
    shown = []
    for cell, column in zip(row, columns, strict=True):
        number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
        if number and column["number"]:
            text = numbers.plain(float(cell or 0), column["digits"], tongue)
            shown.append(text if column["grouped"] else text.replace(tongue.thousands, ""))
        else:
            shown.append("" if cell is None else str(cell))
    return shown


def row_count(body: str) -> int:
    """How many rows a page's data has, for the check."""
    start = body.index('type="application/json"')
    data = body[body.index(">", start) + 1 : body.index("</script>", start)]
    return len(json.loads(data)["rows"])
