"""Bringing a database to the newest schema. The only use of SQLAlchemy at run time.

Most starts, and every command beside a running server, find the schema up to date and import
nothing for it. When there is something to do, a process of its own does it: the migration tool
would otherwise stay in the server's memory, half as much again as the server itself.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MIGRATIONS = Path(__file__).with_name("migrations")
_REVISION = "SELECT version_num FROM alembic_version"
_LOCK = 7_301_994_651
_TARGET = "AGENTPOST_MIGRATION_TARGET"


def newest_revision() -> str:
    """The head of our one chain: migrations are numbered."""
    files = (MIGRATIONS / "versions").glob("[0-9]*.py")
    return max(path.name.partition("_")[0] for path in files)


def upgrade_sqlite(path: Path) -> None:
    """Make the file, readable by its owner alone, or bring it up to date."""
    # SQLite gives its companions (the write-ahead log holds all there is) the same permissions.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            row = connection.execute(_REVISION).fetchone()
        except sqlite3.OperationalError:
            row = None  # no such table: a new file
    if row is None or row[0] != newest_revision():
        _upgrade_apart("sqlite", str(path))


def upgrade_postgres(url: str) -> None:
    """Bring the database up to date; raises `ConnectionError` when it cannot be reached."""
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=30) as connection:
            try:
                row = connection.execute(_REVISION.encode()).fetchone()
            except psycopg.errors.UndefinedTable:
                row = None
    except psycopg.OperationalError as error:
        why = str(error).partition("\n")[0]
        raise ConnectionError(f"{why}. Check AGENTPOST_DATABASE_URL.") from None
    except psycopg.ProgrammingError:
        # What the driver says of an address it cannot read repeats it, password included.
        raise ValueError("AGENTPOST_DATABASE_URL is not a URL that can be read") from None
    if row is None or row[0] != newest_revision():
        _upgrade_apart("postgres", url)


def _upgrade_apart(kind: str, target: str) -> None:
    """`upgrade` in a child; the target goes by environment, since it may hold a password."""
    child = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", __name__, kind],
        env={**os.environ, _TARGET: target, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode != 0:
        last = child.stderr.strip().rpartition("\n")[2].replace(target, "the database")
        raise OSError(f"the database could not be brought up to date: {last}")


def sqlite_engine(path: Path) -> Engine:
    """SQLAlchemy's view of our SQLite file."""
    from sqlalchemy import create_engine, event, pool

    engine = create_engine(f"sqlite:///{path}", poolclass=pool.NullPool)

    @event.listens_for(engine, "connect")
    def begin_ourselves(connection: Any, _: object) -> None:
        # The driver's own BEGIN leaves DDL outside the transaction; SQLAlchemy is to send it.
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA journal_mode=WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def postgres_engine(url: str) -> Engine:
    """SQLAlchemy's view of a PostgreSQL database."""
    from sqlalchemy import create_engine, pool

    _, _, rest = url.partition("://")
    return create_engine(f"postgresql+psycopg://{rest}", poolclass=pool.NullPool)


def upgrade(engine: Engine) -> None:
    """Run what is missing; several processes may come at once, one of them does it."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import text

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_lock({_LOCK})"))
            connection.commit()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
    engine.dispose()


if __name__ == "__main__":
    _target = os.environ[_TARGET]
    upgrade(sqlite_engine(Path(_target)) if sys.argv[1] == "sqlite" else postgres_engine(_target))
