"""Copying the SQLite database while a server writes to it, and looking into such a copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.db.sqlite_group import SqliteTx

T = TypeVar("T")
_CHUNK_BYTES = 1 << 20


def copy_sqlite(source: Path, target: Path, *, without: str) -> int:
    """A consistent copy at one moment, in which nothing is left of the value ``without`` of `meta`;
    its size in bytes.

    Written under another name first, so ``target`` is whole or not there. Raises `ValueError` when
    there is no database, or something is at ``target`` already; `OSError` when it cannot be copied.
    """
    if not source.exists():
        raise ValueError(f"there is no database at {source}")
    if target.exists():
        raise ValueError(f"{target} exists already; a backup never overwrites anything")
    if not target.parent.is_dir():
        raise ValueError(
            f"there is no folder {target.parent} to write the backup to; make it first"
        )
    draft = target.with_name(f"{target.name}.unfinished")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
    except OSError as error:
        raise OSError(f"the backup cannot be written to {target}: {error.strerror}") from None
    try:
        _copy(source, draft)
        _remove(draft, without)
        draft.rename(target)
    except sqlite3.Error as error:
        raise OSError(f"the database could not be copied to {target}: {error}") from None
    finally:
        draft.unlink(missing_ok=True)  # of one that failed: it may hold the value still
    return target.stat().st_size


def _copy(source: Path, target: Path) -> None:
    with (
        closing(_connect_to_read(source)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        reading.execute("PRAGMA busy_timeout=30000")
        # In one step: a read transaction holds up no writer (WAL), while a copy in several steps
        # begins anew whenever somebody writes in between.
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode=DELETE")  # one file, no companions


def _remove(path: Path, name: str) -> None:
    """Remove a value of `meta`, also from where SQLite has only marked its place as free."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        tx = SqliteTx(connection)
        value = meta.get(tx, name)
        if value is None:
            return
        connection.execute("PRAGMA secure_delete=ON")
        meta.delete(tx, name)
        if _holds(path, value.encode()):
            connection.execute("VACUUM")


def _holds(path: Path, data: bytes) -> bool:
    before = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            if data in before + chunk:
                return True
            before = chunk[-len(data) :]
    return False


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that makes no file where there is none."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def read_copy(path: Path, fn: Callable[[Tx], T]) -> T:
    """Run ``fn`` on a copy that nobody writes to."""
    with closing(_connect_to_read(path)) as connection:
        return fn(SqliteTx(connection))


def change_copy(path: Path, fn: Callable[[Tx], None]) -> None:
    """Run ``fn`` in a transaction on a copy that nobody else uses."""
    with closing(sqlite3.connect(path)) as connection, connection:
        fn(SqliteTx(connection))


def check_copy(path: Path) -> None:
    """Raises `ValueError` when a copy is damaged."""
    try:
        row = read_copy(path, lambda tx: tx.one("PRAGMA quick_check(1)"))
    except sqlite3.Error as error:
        row = (str(error),)
    if row != ("ok",):
        raise ValueError(f"the copy of the database is damaged: {row[0] if row else 'empty'}")
