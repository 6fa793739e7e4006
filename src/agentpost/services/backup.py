"""Copying the records of an installation (docs/cli.md, backup)."""

from __future__ import annotations

from pathlib import Path

from agentpost.db import backup
from agentpost.settings import Settings


def backup_database(settings: Settings, path: Path) -> int:
    """Copy the database to ``path`` beside a running server; its size in bytes.

    Raises `ValueError` when there is nothing to copy, or no place to copy it to.
    """
    if settings.database_url.get_secret_value():
        raise ValueError(
            "this installation keeps its records in PostgreSQL: back them up with pg_dump"
        )
    return backup.copy_sqlite(settings.data_path / "agentpost.db", path)
