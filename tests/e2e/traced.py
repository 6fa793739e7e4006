"""The tests' agent, in a server that writes down each transaction's statements and their values.

A server imports this module as its agent. Every line of the file ``transactions`` in its folder is
one function that ran in a transaction: where it stands, and the values that its statements were
given or found.
"""

import inspect
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from agentpost import transactions
from agentpost.db.session import Params, Row, Tx
from agentpost.db.sqlite import SqliteDatabase
from tests.e2e.agents import agent

__all__ = ["agent"]

T = TypeVar("T")
FILE = Path("transactions")


class TracedTx:
    """One transaction, and the values of its statements."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.values: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def execute_nowait(self, sql: str, params: Params = ()) -> None:
        self._keep(params)
        self._tx.execute_nowait(sql, params)

    def update_exactly_one(self, sql: str, params: Params, error: Exception) -> None:
        self._keep(params)
        self._tx.update_exactly_one(sql, params, error)

    def execute(self, sql: str, params: Params = ()) -> int:
        self._keep(params)
        return self._tx.execute(sql, params)

    def one(self, sql: str, params: Params = ()) -> Row | None:
        row = self._tx.one(sql, params)
        self._keep(params, row or ())
        return row

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        rows = self._tx.all(sql, params)
        self._keep(params, *rows)
        return rows

    def _keep(self, *values: Params) -> None:
        self.values.update(value for row in values for value in row if isinstance(value, str))


def traced(fn: Callable[[Tx], T]) -> Callable[[Tx], T]:
    """The function, which also writes its line."""
    name = _name(fn)

    def run(tx: Tx) -> T:
        watched = TracedTx(tx)
        try:
            return fn(watched)
        finally:
            line = json.dumps([name, sorted(watched.values)])
            with LOCK, FILE.open("a") as file:
                file.write(line + "\n")

    return run


def _name(fn: Callable[..., Any]) -> str:
    """Where a transaction's function stands; for a wrapped one, where the wrapped one stands."""
    if (sql := getattr(fn, "sql", None)) is not None:  # a `db.statements.Statement`
        return f"statement {sql}"
    while (inner := getattr(fn, "func", None) or _wrapped(fn)) is not None:
        fn = inner
    return f"{fn.__module__.removeprefix('agentpost.')}.{fn.__qualname__.partition('.<')[0]}"


def _wrapped(fn: Callable[..., Any]) -> Callable[..., Any] | None:
    if fn.__module__ != transactions.__name__:
        return None
    inner: Callable[..., Any] = inspect.getclosurevars(fn).nonlocals["function"]
    return inner


LOCK = threading.Lock()
read_now = SqliteDatabase.read_now
write = SqliteDatabase.write


def traced_read(self: SqliteDatabase, fn: Callable[[Tx], Any]) -> Any:
    return read_now(self, traced(fn))


async def traced_write(self: SqliteDatabase, fn: Callable[[Tx], Any]) -> Any:
    return await write(self, traced(fn))


SqliteDatabase.read_now = traced_read  # type: ignore[method-assign]
SqliteDatabase.write = traced_write  # type: ignore[method-assign]
