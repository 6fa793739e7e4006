"""Copying the SQLite database while a server writes to it, and looking into such a copy."""

import mmap
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeVar

from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.db.sqlite_group import SqliteTx

T = TypeVar("T")
RESTORE_MARK: Final = "restore-unfinished"
"""A file that is in a data folder from the beginning of a restore to its end."""


def refuse_unfinished_restore(data: Path) -> None:
    """Raises `OSError` for a data folder that a restore which was cut off has left incomplete."""
    if (data / RESTORE_MARK).exists():
        raise OSError(
            f"a restore into {data} was cut off: run `agentpost restore` again, or empty the folder"
        )


_COPY_SECONDS_MAX = 86_400.0
"""A copy that is older is of a process that was killed."""


def copy_sqlite(source: Path, target: Path, *, without: str) -> None:
    """Make a consistent copy of one moment, in which nothing is left of the value ``without`` of
    `meta`. Raises `ValueError` when there is no database, `OSError` when it cannot be copied.

    Until the value is removed the copy is beside the source, which holds it as well: a process that
    is killed leaves it in no other folder. What one left there goes a day later. Nothing is copied
    where that would fill the disk, which the server needs.
    """
    if not source.exists():
        raise ValueError(f"there is no database at {source}")
    if shutil.disk_usage(source.parent).free < 2 * source.stat().st_size:
        raise OSError(f"copying the database needs twice its size of free space in {source.parent}")
    working = source.with_name(f"{source.name}.{target.name}.copy")
    try:
        working.touch(mode=0o600)
        now = working.stat().st_mtime
        for left in source.parent.glob(f"{source.name}.*.copy*"):  # its journal, too
            with suppress(FileNotFoundError):  # another backup has ended meanwhile
                if now - left.stat().st_mtime > _COPY_SECONDS_MAX:
                    left.unlink()
        with (
            closing(_connect_to_read(source)) as reading,
            closing(sqlite3.connect(working)) as copy,
        ):
            reading.execute("PRAGMA busy_timeout=30000")
            # In one step: a read transaction holds up no writer (WAL), while a copy in several
            # steps begins anew whenever somebody writes in between.
            reading.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, no companions
        _remove(working, without)
        target.touch(mode=0o600)  # on another disk it is written to and not replaced
        shutil.move(working, target)
    except BaseException as error:
        working.unlink(missing_ok=True)
        target.unlink(missing_ok=True)  # it may not be whole
        if not isinstance(error, sqlite3.Error):
            raise
        raise OSError(f"the database could not be copied to {target}: {error}") from None


def _remove(path: Path, name: str) -> None:
    """Remove a value of `meta`, also from where SQLite has only marked its place as free."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        tx = SqliteTx(connection)
        value = meta.get(tx, name)
        if value is None:
            return
        connection.execute("PRAGMA secure_delete=ON")
        meta.delete(tx, name)
        if _contains(path, value.encode()):
            connection.execute("VACUUM")


def _contains(path: Path, data: bytes) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(data) >= 0


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
