"""Statements with names: what a module of rows offers where one statement is all there is to it.

``get = First[JobRecord, str](JOBS, "WHERE id = ?")`` is called as ``get(tx, job_id)``. The types in
brackets are that of the record, where there is one, and those of the parameters in their order.
"""

from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, TypeVarTuple, cast

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx

R = TypeVar("R")
K = TypeVar("K")
Values = TypeVarTuple("Values")


class Statement(Generic[*Values]):
    """Its text; what a call does is said by the class."""

    def __init__(self, sql: str) -> None:
        self.sql: Final = sql

    def prefetch(self, tx: Tx, *values: *Values) -> None:
        """The statement follows in this transaction, and may be answered as of now."""
        tx.prefetch(self.sql, values)


class Lock(Statement[*Values]):
    """Locks the rows that it finds, without reading them (`Tx.lock`)."""

    def __call__(self, tx: Tx, *values: *Values) -> None:
        tx.lock(self.sql, values)


class _Records(Statement[*Values], Generic[R, *Values]):
    """Of a table with these conditions."""

    def __init__(self, mapper: Mapper[R], conditions: str) -> None:
        super().__init__(f"{mapper.select} {conditions}")
        self._record_of = mapper.of


class First(_Records[R, *Values]):
    """The first record, or None."""

    def __call__(self, tx: Tx, *values: *Values) -> R | None:
        row = tx.one(self.sql, values)
        return None if row is None else self._record_of(row)


class Only(_Records[R, *Values]):
    """The record, which is there."""

    def __call__(self, tx: Tx, *values: *Values) -> R:
        row = tx.one(self.sql, values)
        assert row is not None
        return self._record_of(row)


class All(_Records[R, *Values]):
    """All records."""

    def __call__(self, tx: Tx, *values: *Values) -> list[R]:
        return [self._record_of(row) for row in tx.all(self.sql, values)]


class Rows(Statement[*Values], Generic[R, *Values]):
    """All rows as they are, tuples of that type."""

    def __call__(self, tx: Tx, *values: *Values) -> list[R]:
        return cast("list[R]", tx.all(self.sql, values))


class Pairs(Statement[*Values], Generic[K, R, *Values]):
    """The second value of each row by its first one."""

    def __call__(self, tx: Tx, *values: *Values) -> dict[K, R]:
        return dict(tx.all(self.sql, values))


class Firsts(Statement[*Values]):
    """The first value of each row, mostly an id."""

    def __call__(self, tx: Tx, *values: *Values) -> list[Any]:
        return [row[0] for row in tx.all(self.sql, values)]


class Number(Statement[*Values]):
    """A count or a sum: the one value of the one row."""

    def __call__(self, tx: Tx, *values: *Values) -> int:
        row = tx.one(self.sql, values)
        assert row is not None
        return int(row[0])


class Value(Statement[*Values], Generic[R, *Values]):
    """The first value of the first row; None without a row."""

    def __call__(self, tx: Tx, *values: *Values) -> R | None:
        row = tx.one(self.sql, values)
        return None if row is None else cast("R | None", row[0])


class Whether(Statement[*Values]):
    """Whether there is such a row."""

    def __call__(self, tx: Tx, *values: *Values) -> bool:
        return tx.one(self.sql, values) is not None


class Change(Statement[*Values]):
    """Changes rows, and says how many."""

    def __call__(self, tx: Tx, *values: *Values) -> int:
        return tx.execute(self.sql, values)


class ChangeOf(Statement[*Values], Generic[K, *Values]):
    """Changes a row whose key the statement names last; a call names it first."""

    def __call__(self, tx: Tx, key: K, *values: *Values) -> int:
        return tx.execute(self.sql, (*values, key))


class SentChange(Statement[*Values]):
    """`Change` that does not wait for the answer (`Tx.execute_nowait`)."""

    def __call__(self, tx: Tx, *values: *Values) -> None:
        tx.execute_nowait(self.sql, values)


class SentChangeOf(Statement[*Values], Generic[K, *Values]):
    """`ChangeOf` that does not wait for the answer."""

    def __call__(self, tx: Tx, key: K, *values: *Values) -> None:
        tx.execute_nowait(self.sql, (*values, key))


class Save(Statement[()], Generic[R]):
    """Writes these columns of a record, which has an id."""

    def __init__(self, mapper: Mapper[R], *columns: str) -> None:
        super().__init__(mapper.update_sql(columns, "id = ?"))
        self._values_of = attrgetter(*columns, "id")

    def __call__(self, tx: Tx, record: R) -> int:
        return tx.execute(self.sql, self._values_of(record))
