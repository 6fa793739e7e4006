"""Tables in JSON, in documents and in messages, as rows of cells."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentpost.extraction import Unreadable
from agentpost_offline.data import limits
from agentpost_offline.data.delimited import Grid, find_delimiter, write_grid
from agentpost_offline.documents.sources import Document

_DEPTH = 5
_LISTED = 20


def of_document(document: Document, folder: Path) -> Iterator[Grid]:
    """The tables of a document with at least two rows and two columns."""
    tables = [block for block in document.blocks
              if block.grid and block.grid.rows and len(block.grid.header) > 1]  # fmt: skip
    for number, block in enumerate(tables[: limits.TABLES], 1):
        place = f", {block.place}" if block.place else ""
        which = f", table {number}" if len(tables) > 1 else ", table"
        grid = write_grid(block.rows, f"{document.name}{place}{which}", folder)
        grid.maybe = True
        if grid.width:
            yield grid


# JSON


def of_json(text: str, name: str, folder: Path) -> Iterator[Grid]:
    """The lists of records in a JSON document, or in lines of JSON. Raises `Unreadable`."""
    try:
        data = json.loads(text)
    except ValueError:
        data = _json_lines(text, name)
    results = list(_records(data, "", 0))
    if not results:
        raise Unreadable(f"{name} has no list of records in it")
    for key, records in results[: limits.TABLES]:
        title = f"{name}, {key}" if key else name
        yield write_grid(_table(records), title, folder)


def _json_lines(text: str, name: str) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise Unreadable(f"{name} is not valid JSON") from error


def _records(data: Any, key: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Each list of records, with the key that leads to it."""
    if isinstance(data, list):
        if any(isinstance(item, (Mapping, list)) for item in data):
            yield key, data
        elif data and depth < 2:
            yield key, [{key.rpartition(".")[2] or "value": item} for item in data]
        return
    if not isinstance(data, Mapping) or depth > _DEPTH:
        return
    values = list(data.values())
    if len(values) > 1 and all(isinstance(v, Mapping) for v in values):
        shapes = [set(v) for v in values]
        if all(shape & shapes[0] for shape in shapes):  # records by their names
            yield key, [{"name": name, **value} for name, value in data.items()]
            return
    lists = [v for v in values if isinstance(v, list)]
    flat = not any(isinstance(item, (Mapping, list)) for v in lists for item in v)
    same = len(lists) == len(values) > 1 and len({len(v) for v in lists}) == 1
    if flat and same:  # by columns
        yield key, [dict(zip(data, row, strict=True)) for row in zip(*lists, strict=True)]
        return
    has_records = False
    for name, value in data.items():
        if isinstance(value, (Mapping, list)):
            for one in _records(value, f"{key}.{name}" if key else str(name), depth + 1):
                has_records = True
                yield one
    if not has_records and depth == 0 and data:
        yield key, [data]


def _table(records: list[Any]) -> Iterator[list[object]]:
    """Records as rows under a header of all their keys."""
    if all(isinstance(record, list) for record in records):
        for record in records:
            yield [_scalar(value) for value in record]
        return
    flat = [_flat(record) for record in records]
    keys: dict[str, None] = {}
    for row in flat:
        keys.update(dict.fromkeys(row))
        if len(keys) > limits.COLUMNS:
            break
    header = list(keys)[: limits.COLUMNS + 1]
    yield list(header)
    for row in flat:
        yield [row.get(key) for key in header]


def _flat(record: Any, prefix: str = "", depth: int = 0) -> dict[str, object]:
    if not isinstance(record, Mapping):
        return {prefix or "value": _scalar(record)}
    results: dict[str, object] = {}
    for key, value in record.items():
        name = f"{prefix} {key}".strip()
        if isinstance(value, Mapping) and depth < _DEPTH:
            results.update(_flat(value, name, depth + 1))
        else:
            results[name] = _scalar(value)
    return results


def _scalar(value: Any) -> object:
    if isinstance(value, list):
        sql = ", ".join(str(item) for item in value[:_LISTED] if not isinstance(item, (dict, list)))
        return sql or (f"{len(value)} items" if value else None)
    return json.dumps(value)[: limits.CELL_CHARACTERS] if isinstance(value, dict) else value


# Messages


def of_message(text: str, folder: Path) -> Iterator[Grid]:
    """The tables that are pasted into a message: lines with bars, tabs, commas or semicolons."""
    lines = text.replace("\r\n", "\n").split("\n")[:200_000]
    at = 0
    while at < len(lines):
        sizes = {delimiter: _run(lines, at, delimiter) for delimiter in "|\t;,"}
        delimiter = max(sizes, key=sizes.__getitem__)
        rows = list(_cells(lines[at : at + sizes[delimiter]], delimiter))
        if len(rows) >= 2:
            grid = write_grid(rows, "the message", folder)
            grid.decimal_comma, grid.maybe = delimiter == ";", True
            yield grid
        at += max(1, sizes[delimiter])


def _run(lines: list[str], at: int, delimiter: str) -> int:
    """How many lines from here on have the same number of cells, at least two."""
    width = _width(lines[at], delimiter)
    if width < 2:
        return 0
    end = at + 1
    while end < len(lines) and _width(lines[end], delimiter) == width:
        end += 1
    if delimiter == "," and end - at < 3 and width < 3:
        return 0  # two sentences with one comma each
    if delimiter == "," and any(_prose(line) for line in lines[at:end]):
        return 0
    return end - at


def _prose(line: str) -> bool:
    has_stop = line.rstrip().endswith((".", "!", "?", ":"))
    return has_stop or max(len(cell.split()) for cell in line.split(",")) > 6


def _width(line: str, delimiter: str) -> int:
    body = line.strip() if delimiter == "|" else line
    if delimiter not in body or len(body) > limits.ROW_CHARACTERS:
        return 0
    if delimiter == "|":
        return body.strip("|").count("|") + 1
    return len(next(csv.reader([body], delimiter=delimiter), []))


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == "|":
        for line in lines:
            inner = line.strip().strip("|")
            if set(inner) <= set("-:| "):
                continue
            yield [cell.strip().strip("*`") for cell in inner.split("|")]
        return
    yield from csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=delimiter)


def looks_delimited(sample: str) -> bool:
    """Whether a text without a telling name is delimited cells rather than prose."""
    delimiter, share = find_delimiter(sample)
    if share < 0.9:
        return False
    lines = [line for line in sample.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    return delimiter != "," or not any(_prose(line) for line in lines[:100])
