"""States of messages and jobs are written by `record/rows.py` alone (design: One record and one
writer).

Two ways to write are looked for: SQL in strings, and the statements a `Mapper` makes, itself or
within a `Save`. Where the code does not tell the table or its columns, the worst is assumed.
"""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from agentpost.db.mapper import Mapper
from tests.house.tree import Source, dotted, on_floor, package, parse, strings
from tests.schema import TABLES, Column

WRITER = "packages/server/src/agentpost/record/rows.py"
BUILDER = "packages/server/src/agentpost/db/mapper.py"
GUARDED = {
    "messages": {"turn_state", "status", "reason", "final", "seq", "version", "state_version"},
    "jobs": {"state", "reason"},
    "entries": {"seq"},
}
WRITING = {"insert", "insert_unchecked", "insert_all", "insert_sql", "update", "update_sql"}
UNKNOWN = "{}"  # what an f-string fills in

NAME = r'"?(\{\}|\w+)"?'
INSERT = re.compile(rf"\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s+{NAME}\s*(?:\(([^)]*)\))?", re.I)
UPDATE = re.compile(
    rf"\bUPDATE\s+(?:OR\s+\w+\s+)?{NAME}(?:\s+(?:AS\s+)?(?!SET\b)\w+)?\s+SET\b(.*?)"
    r"(?=\bWHERE\b|\bRETURNING\b|\bFROM\b|$)",
    re.I | re.S,
)
ASSIGNED = re.compile(rf"{NAME}\s*=")


def guarded(table: str, columns: Iterable[str]) -> Iterator[str]:
    """Those of `columns` that have one writer, as `table.column`; `*` for any of them."""
    table = table.lower()
    if table == UNKNOWN:
        yield "*.*"
    for column in columns:
        if column == UNKNOWN and table in GUARDED:
            yield f"{table}.*"
        elif column.lower() in GUARDED.get(table, ()):
            yield f"{table}.{column.lower()}"


def in_sql(text: str) -> Iterator[str]:
    for table, columns in INSERT.findall(text):
        yield from guarded(table, re.findall(NAME, columns) or [UNKNOWN])
    for table, assignments in UPDATE.findall(text):
        yield from guarded(table, ASSIGNED.findall(assignments) or [UNKNOWN])


def in_call(call: ast.Call) -> Iterator[str]:
    """`JOBS.update_sql(…)`, `JOBS.insert(…)` and their like, and `Save(JOBS, …)`."""
    owner, _, verb = dotted(call.func).rpartition(".")
    if verb == "Save" and call.args:
        owner = dotted(call.args[0])
    elif verb not in WRITING:
        return
    owner = owner.split(".")[-1].lower()
    if owner in GUARDED:
        yield from guarded(owner, [UNKNOWN])


def writes(source: Source) -> Iterator[tuple[int, str]]:
    """Line and `table.column` of every guarded write."""
    for line, text in strings(source):
        yield from ((line, column) for column in in_sql(text))
    for node in source.nodes:
        if isinstance(node, ast.Call):
            yield from ((node.lineno, column) for column in in_call(node))


def test_states_have_one_writer() -> None:
    found = [
        f"{source.path}:{line}: writes {column}"
        for source in package()
        if source.path not in {WRITER, BUILDER}
        for line, column in writes(source)
    ]
    assert found == []


def test_the_writer_is_seen_to_write() -> None:
    writer = [source for source in package() if source.path == WRITER]
    assert len(writer) == 1, f"{WRITER} is missing"
    assert {column.partition(".")[0] for _, column in writes(writer[0])} == set(GUARDED)


def mappers() -> dict[str, Mapper[Any]]:
    """Those of the rows, by the names of their constants."""
    return {
        name: value
        for source in on_floor("rows")
        for name, value in vars(importlib.import_module(source.module)).items()
        if isinstance(value, Mapper)
    }


def test_a_mapper_is_named_after_its_table_and_has_its_columns() -> None:
    assert {"MESSAGES", "JOBS", "ENTRIES"} <= mappers().keys()
    for name, mapper in mappers().items():
        assert name == mapper.table.upper()
        assert set(mapper.columns) == {column.name for column in TABLES[mapper.table]}


def test_a_column_holds_what_its_field_may_be() -> None:
    """None as NULL, bytes, 64 bits where the field says so (`Big`), text for all that is no number:
    an enumeration's value."""
    for mapper in mappers().values():
        hints = get_type_hints(mapper.record, include_extras=True)
        for column in TABLES[mapper.table]:
            hint = hints[column.name]
            nullable = NoneType in get_args(hint)
            if nullable:
                hint = get_args(hint)[0]
            if get_origin(hint) is Annotated:
                kind = "BIGINT"
            else:
                kind = {int: "INTEGER", bytes: "BLOB"}.get(hint, "TEXT")
            assert column == Column(column.name, kind, nullable), mapper.table


def test_the_guarded_columns_exist() -> None:
    for table, columns in GUARDED.items():
        assert columns <= {column.name for column in TABLES[table]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"UPDATE messages SET status = ? WHERE id = ?"', ["messages.status"]),
        ("\"update jobs as j set title=?, state = 'failed'\"", ["jobs.state"]),
        ('"UPDATE messages\\n SET reply = ?,\\n seq = seq + 1\\n WHERE id = ?"', ["messages.seq"]),
        ('"INSERT INTO messages (id, final) VALUES (?, ?)"', ["messages.final"]),
        ('"INSERT INTO jobs VALUES (?, ?)"', ["jobs.*"]),
        ('f"UPDATE jobs SET {names} WHERE id = ?"', ["jobs.*"]),
        ('f"UPDATE {table} SET state = ?"', ["*.*"]),
        ('f"INSERT OR IGNORE INTO messages ({names}) VALUES ({marks})"', ["messages.*"]),
        ('JOBS.update_sql(("title",), "id = ?")', ["jobs.*"]),
        ("MESSAGES.insert(tx, message)", ["messages.*"]),
        ("ENTRIES.insert_unchecked(tx, entry)", ["entries.*"]),
        ("messages.JOBS.insert_all(tx, jobs)", ["jobs.*"]),
        ('Save(JOBS, "title")', ["jobs.*"]),
        ("statements.Save(rows.MESSAGES, *columns)", ["messages.*"]),
    ],
)
def test_the_check_sees_a_second_writer(text: str, found: list[str]) -> None:
    assert [column for _, column in writes(parse(text))] == found


@pytest.mark.parametrize(
    "text",
    [
        '"SELECT status FROM messages WHERE state = ?"',
        '"UPDATE messages SET idempotency_key = NULL WHERE status = ?"',
        '"UPDATE deliveries SET status = ? FROM messages WHERE messages.status = ?"',
        '"DELETE FROM jobs WHERE state = ?"',
        'f"UPDATE uploads SET {names} WHERE id = ?"',
        'WORKS.update_sql(("status",), "id = ?")',
        'Save(WORKS, "status")',
        "JOBS.one(tx, sql, params)",
        "known.update(jobs)",
        '"Update jobs as you like."',
    ],
)
def test_the_check_lets_other_sql_be(text: str) -> None:
    assert list(writes(parse(text))) == []
