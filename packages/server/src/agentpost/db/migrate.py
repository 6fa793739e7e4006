"""Creating the schema of a database, and bringing it to the newest version.

A migration is a file ``migrations/NNNN_title.sql``, numbered without gaps, for both databases: it
is written for SQLite, and `statements` says what PostgreSQL gets instead. The table
``agentpost_schema`` has one row: the version that the database has, and the oldest version whose
code may use it.

An upgrade is one transaction, however many migrations it runs: it happens whole or not at all.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import structlog

from agentpost.db.session import scalar

if TYPE_CHECKING:
    from agentpost.db.session import Tx

MIGRATIONS: Final = Path(__file__).with_name("migrations")
SERVES_FROM: Final = 1
"""The oldest version whose code works on the newest schema: all migrations after it only add
(CONTRIBUTING: A migration). It is kept in the database, where code of that age reads it."""
VERSION_TABLE: Final = "agentpost_schema"
_CREATE_VERSION_TABLE = "CREATE TABLE agentpost_schema (version INTEGER, serves_from INTEGER)"
_READ_VERSION = "SELECT version, serves_from FROM agentpost_schema"
_SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
# Without those of extensions, and only where a new table would be made.
_POSTGRES_TABLES = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT EXISTS"
    " (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_OTHER_TABLES = ("sqlite_",)
"""Beginnings of the names of tables that an empty database may have."""
_DEVELOPMENT_TABLES = {"alembic_version", "accounts", "messages", "message_jobs", "ledger"}
"""Tables of versions from before the first release, which had their own migrations."""
_TABLES_NAMED_MAX = 3
_STATEMENT_CHARACTERS_MAX = 300
_LOCK = 7_301_994_651
_SQLITE_FAULTS = {
    "not a database": (
        "is not a SQLite database, or its beginning is damaged. Restore a backup, or name another"
        " folder with AGENTPOST_DATA_DIR"
    ),
    "malformed": "is damaged. Stop whatever uses it and restore a backup",
    "readonly": "cannot be written. Let this user write the file and its folder",
    "unable to open": "cannot be opened. Let this user read and write the file and its folder",
    "locked": "is held by another program. Stop that one, then try again",
    "full": "cannot grow: the disk is full. Make room, then try again",
}
log = structlog.get_logger(__name__)

Execute: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement without parameters and returns its rows."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a database is, for errors: ``name`` begins a sentence, ``other`` is an instruction to
    take another one."""

    name: str
    other: str


def migrations() -> dict[int, Path]:
    """The migrations by the version that each makes, oldest first."""
    paths = sorted(MIGRATIONS.glob("[0-9]*.sql"))
    return {int(path.name.partition("_")[0]): path for path in paths}


def newest_version() -> int:
    """The version of the schema that this code works with."""
    return max(migrations())


def version(tx: Tx) -> int:
    """The version of the schema of an open database."""
    return int(scalar(tx, _READ_VERSION))


def mark_version(tx: Tx, version: int) -> None:
    """Give a database whose tables came from a dump its version. No server takes it before."""
    tx.execute(_CREATE_VERSION_TABLE)
    oldest = min(version, SERVES_FROM)
    tx.execute("INSERT INTO agentpost_schema VALUES (?, ?)", (version, oldest))


def statements(version: int, *, postgres: bool) -> Iterator[str]:
    """The statements of the migration that makes a version, without comments.

    Two words of SQLite's are written otherwise for PostgreSQL: ``BLOB`` is ``BYTEA`` there, and
    ``WITHOUT ROWID`` is left out. No statement has a semicolon or two hyphens in a text.
    """
    lines = migrations()[version].read_text("utf-8").splitlines()
    for statement in "\n".join(line.partition("--")[0] for line in lines).split(";"):
        if postgres:
            statement = statement.replace(" BLOB", " BYTEA").replace(" WITHOUT ROWID", "")
        if statement.strip():
            yield statement.strip()


def upgrade_sqlite(path: Path) -> None:
    """Make the file, readable by its owner alone, or bring it up to date. Raises `OSError`, with
    what to do, when it is not ours, newer than this program, damaged, cannot be written, or a
    migration failed."""
    try:
        # SQLite gives its companions (the write-ahead log holds all there is) the same permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OSError(
            f"{path} cannot be written ({error.strerror}). Let this user read and write it, or name"
            " another folder with AGENTPOST_DATA_DIR."
        ) from None
    place = _Place(str(path), "name another folder with AGENTPOST_DATA_DIR")
    with (
        usable(path),
        closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection,
    ):

        def execute(sql: str) -> Sequence[Sequence[Any]]:
            return connection.execute(sql).fetchall()

        def tables() -> set[str]:
            return {name for (name,) in execute(_SQLITE_TABLES)}

        if not _pending(execute, tables(), place):
            return
        execute("PRAGMA journal_mode=WAL")
        execute("BEGIN IMMEDIATE")
        _migrate(execute, _pending(execute, tables(), place), postgres=False)
        execute("COMMIT")


def sqlite_fault(path: Path, error: sqlite3.Error) -> OSError:
    """What is wrong with the file and what to do, in one line."""
    text = str(error)
    for part, advice in _SQLITE_FAULTS.items():
        if part in text:
            return OSError(f"{path} {advice} ({text}).")
    return OSError(f"{path} cannot be used ({text}).")


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turns what SQLite raises inside into `sqlite_fault`: a file may be damaged behind what an
    upgrade reads of it."""
    try:
        yield
    except sqlite3.Error as error:
        raise sqlite_fault(path, error) from None


def upgrade_postgres(url: str) -> None:
    """Bring the database up to date. Raises `ConnectionError` when it cannot be reached,
    `ValueError` when the URL cannot be read, and `OSError` as `upgrade_sqlite` and `check_database`
    do."""
    import psycopg

    from agentpost.db.postgres_check import check_database

    place = _Place(
        "the database",
        "name an empty database, or a schema of our own, with AGENTPOST_DATABASE_URL",
    )
    try:
        connection = psycopg.connect(url, connect_timeout=30, autocommit=True)
    except psycopg.OperationalError as error:
        raise ConnectionError(f"{_first_line(error)}. Check AGENTPOST_DATABASE_URL.") from None
    except psycopg.ProgrammingError:
        # What the driver says of an address it cannot read repeats it, password included.
        raise ValueError("AGENTPOST_DATABASE_URL is not a URL that can be read") from None

    def execute(sql: str) -> Sequence[Sequence[Any]]:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    def tables() -> set[str]:
        """Also ours in another schema, as far as their bare names lead there."""
        names = ", ".join(f"('{name}')" for name in {VERSION_TABLE, *_DEVELOPMENT_TABLES})
        reachable = f"SELECT n FROM (VALUES {names}) v (n) WHERE to_regclass(n) IS NOT NULL"
        return {name for (name,) in execute(f"{_POSTGRES_TABLES} UNION {reachable}")}

    try:
        with closing(connection):
            check_database(connection, url)
            if not _pending(execute, tables(), place):
                return
            with connection.transaction():
                execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                _migrate(execute, _pending(execute, tables(), place), postgres=True)
    except psycopg.Error as error:
        raise OSError(f"the database cannot be read: {_first_line(error)}") from None


def _pending(execute: Execute, tables: set[str], place: _Place) -> list[int]:
    """The versions that the database lacks, oldest first. Raises `OSError` when it is not one of
    ours, of before the first release, or too new for us."""
    newest = newest_version()
    if VERSION_TABLE in tables:
        [(version, serves_from)] = execute(_READ_VERSION)
        if version > newest and serves_from > newest:
            raise OSError(
                f"{place.name} was made by a newer version of agentpost (its schema is {version},"
                f" this version knows {newest}), which this one can no longer use. Start that"
                " version, or restore a backup from before the upgrade."
            )
        if version > newest:
            log.warning("schema_newer", schema=version, known=newest)
        return list(range(version + 1, newest + 1))
    if tables >= _DEVELOPMENT_TABLES:
        raise OSError(
            f"{place.name} was made by a development version of agentpost, before the first"
            f" release, and cannot be upgraded. To start afresh, {place.other}; to keep its data,"
            " export the accounts with that version (agentpost accounts export)."
        )
    strangers = sorted(name for name in tables if not name.startswith(_OTHER_TABLES))
    if strangers:
        names = ", ".join(strangers[:_TABLES_NAMED_MAX])
        more = ", …" if len(strangers) > _TABLES_NAMED_MAX else ""
        raise OSError(
            f"{place.name} belongs to another program: it has the tables {names}{more}."
            f" To use agentpost, {place.other}."
        )
    return list(range(1, newest + 1))


def _migrate(execute: Execute, versions: list[int], *, postgres: bool) -> None:
    """Run migrations and write the version down; the caller's transaction is open. Raises `OSError`
    with the statement that failed."""
    if not versions:
        return  # another process was first
    script = [_CREATE_VERSION_TABLE] if versions[0] == 1 else ["DELETE FROM agentpost_schema"]
    for version in versions:
        script.extend(statements(version, postgres=postgres))
    script.append(f"INSERT INTO agentpost_schema VALUES ({versions[-1]}, {SERVES_FROM})")
    for statement in script:
        try:
            execute(statement)
        except Exception as error:
            text = " ".join(statement.split())
            if len(text) > _STATEMENT_CHARACTERS_MAX:
                text = text[:_STATEMENT_CHARACTERS_MAX] + "…"
            raise OSError(
                f"the database could not be brought up to date: {_first_line(error)}"
                f" (statement: {text}). Nothing in it was changed: the version that it worked with"
                " can still use it."
            ) from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
