"""Rows as records: the SQL and the conversion of a table, made once from its record class."""

from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from agentpost.db.session import Params, Row, Tx

R = TypeVar("R")


class Mapper(Generic[R]):
    """The table has a column for each field of the record, of the same name.

    A field whose type is an enumeration, or that or None, is stored as its value.

    Args:
        record: a dataclass (`record.records`).
        table: also the name of the constant that holds the mapper, in capitals: a house test finds
            writes to guarded tables by that.
        conflict: the ``ON CONFLICT`` clause of an insert.

    Attributes:
        record: the class of a row.
        columns: all of them, in the order in which `of` takes their values.
        select: ``SELECT`` of all columns, for a ``WHERE`` to follow.
        values: the values of a record, in the order of the columns.
    """

    def __init__(self, record: type[R], table: str, conflict: str = "") -> None:
        self.table: Final = table
        self.columns: Final = tuple(field.name for field in fields(record))  # type: ignore[arg-type]
        self.select: Final = f"SELECT {', '.join(self.columns)} FROM {table}"
        self.record: Final = record
        self._conflict = conflict
        self.values: Final = attrgetter(*self.columns)
        self._inserts: dict[int, str] = {}
        self._insert = self.insert_sql(1)
        hints = get_type_hints(record)
        members = [(n, _members(hints[name])) for n, name in enumerate(self.columns)]
        self._enums = [(n, each) for n, each in members if each]

    def of(self, row: Row) -> R:
        """A row of `select` as a record."""
        if not self._enums:
            return self.record(*row)
        values = list(row)
        for n, members in self._enums:
            if values[n] is not None:
                values[n] = members[values[n]]
        return self.record(*values)

    def one(self, tx: Tx, sql: str, params: Params = ()) -> R | None:
        """The first record that a query beginning with `select` finds."""
        row = tx.one(sql, params)
        return None if row is None else self.of(row)

    def all(self, tx: Tx, sql: str, params: Params = ()) -> list[R]:
        """All records that a query beginning with `select` finds."""
        return [self.of(row) for row in tx.all(sql, params)]

    def insert(self, tx: Tx, record: R) -> bool:
        """False when the conflict clause left it out."""
        return tx.execute(self._insert, self.values(record)) == 1

    def insert_unchecked(self, tx: Tx, record: R) -> None:
        """Insert without waiting for the answer (`Tx.execute_nowait`)."""
        tx.execute_nowait(self._insert, self.values(record))

    def insert_all(self, tx: Tx, records: Sequence[R]) -> None:
        """`insert` of several in one statement."""
        values = list(chain.from_iterable(map(self.values, records)))
        tx.execute_nowait(self.insert_sql(len(records)), values)

    def insert_sql(self, count: int) -> str:
        """The ``INSERT`` of so many records; made once for each number."""
        if count not in self._inserts:
            rows = ", ".join([f"({', '.join('?' * len(self.columns))})"] * count)
            into = f"{self.table} ({', '.join(self.columns)})"
            self._inserts[count] = f"INSERT INTO {into} VALUES {rows} {self._conflict}"
        return self._inserts[count]

    def update_sql(self, columns: Sequence[str], where: str) -> str:
        """The ``UPDATE`` of these columns."""
        changes = ", ".join(f"{name} = ?" for name in columns)
        return f"UPDATE {self.table} SET {changes} WHERE {where}"


def _members(hint: Any) -> dict[Any, Enum]:
    """Value -> member of an enumeration; empty for any other type."""
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {member.value: member for member in kind}
    return {}
