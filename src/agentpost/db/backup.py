"""Copying the SQLite database while a server writes to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def copy_sqlite(source: Path, target: Path) -> int:
    """A consistent copy at one moment; its size in bytes.

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
    unfinished = target.with_name(f"{target.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
    except OSError as error:
        raise OSError(f"the backup cannot be written to {target}: {error.strerror}") from None
    try:
        _copy(source, unfinished)
    except sqlite3.Error as error:
        raise OSError(f"the database could not be copied to {target}: {error}") from None
    unfinished.rename(target)
    return target.stat().st_size


def _copy(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        reading.execute("PRAGMA busy_timeout=30000")
        # In one step: a read transaction holds up no writer (WAL), while a copy in several steps
        # begins anew whenever somebody writes in between.
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode=DELETE")  # one file, no companions
