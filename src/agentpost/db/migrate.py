"""Bringing a database to the newest schema. The only use of SQLAlchemy at run time.

Most starts, and every command beside a running server, find the schema up to date and import
nothing for it. When there is something to do, a process of its own does it: the migration tool
would otherwise stay in the server's memory, half as much again as the server itself.

An upgrade is one transaction, however many migrations it runs: it happens whole or not at all.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from agentpost.domain.errors import reason_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

SERVES_FROM: Final = "0030"
"""The oldest revision whose code works on the newest schema: all after it only add (CONTRIBUTING: A
migration). It is kept in the database, where code of that age reads it."""
_SUPPORT = "schema_support"
log = structlog.get_logger(__name__)
MIGRATIONS = Path(__file__).with_name("migrations")
_REVISION = "SELECT version_num FROM alembic_version"
_KEPT = "SELECT serves_from FROM schema_support"
_FORGET = "DELETE FROM schema_support"
_KEEP = "INSERT INTO schema_support (serves_from) VALUES (:serves_from)"
_SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
# Without those of extensions, and only where a new table would be made.
_POSTGRES_TABLES = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT EXISTS"
    " (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_OF_OTHERS_BUT_FINE = ("alembic_version", "sqlite_")
_SURELY_OURS = {"accounts", "messages", "message_jobs", "ledger"}
_TABLES_NAMED_MAX = 3
_STATEMENT_CHARACTERS_MAX = 300
_LOCK = 7_301_994_651
_TARGET = "AGENTPOST_MIGRATION_TARGET"
_FOLLOWS = re.compile(r'^down_revision = "(\d{4})"', re.MULTILINE)

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


def revisions() -> list[str]:
    """The names of our one chain, oldest first: each migration says which one it follows. Its
    number is a name; two that were written side by side may follow each other either way."""
    following: dict[str, str] = {}
    for path in (MIGRATIONS / "versions").glob("[0-9]*.py"):
        found = _FOLLOWS.search(path.read_text("utf-8"))
        following[found[1] if found else ""] = path.name.partition("_")[0]
    chain: list[str] = []
    while (name := following.get(chain[-1] if chain else "")) is not None:
        chain.append(name)
    return chain


def newest_revision() -> str:
    """The head of the chain."""
    return revisions()[-1]


def upgrade_sqlite(path: Path) -> None:
    """Make the file, readable by its owner alone, or bring it up to date.

    Raises `OSError`, with what to do, when it is not ours, newer than this program, damaged, cannot
    be written, or a migration failed.
    """
    try:
        # SQLite gives its companions (the write-ahead log holds all there is) the same permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OSError(
            f"{path} cannot be written ({error.strerror}). Let this user read and write it, or name"
            " another folder with AGENTPOST_DATA_DIR."
        ) from None
    with usable(path), closing(sqlite3.connect(path, timeout=30)) as connection:
        tables = {row[0] for row in connection.execute(_SQLITE_TABLES)}
        rows = connection.execute(_REVISION).fetchall() if "alembic_version" in tables else []
        kept = connection.execute(_KEPT).fetchone() if _SUPPORT in tables else None
    other = "name another folder with AGENTPOST_DATA_DIR"
    if _has_to_be_upgraded(str(path), tables, rows, kept, other):
        _upgrade_in_subprocess("sqlite", str(path))


def sqlite_fault(path: Path, error: sqlite3.Error) -> OSError:
    """What is wrong with the file and what to do, in one line."""
    said = str(error)
    for part, advice in _SQLITE_FAULTS.items():
        if part in said:
            return OSError(f"{path} {advice} ({said}).")
    return OSError(f"{path} cannot be used ({said}).")


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turns what SQLite raises inside into `sqlite_fault`: a file may be damaged behind what an
    upgrade reads of it."""
    try:
        yield
    except sqlite3.Error as error:
        raise sqlite_fault(path, error) from None


def upgrade_postgres(url: str) -> None:
    """Bring the database up to date.

    Raises `ConnectionError` when it cannot be reached, `ValueError` when the URL cannot be read,
    and `OSError` as `upgrade_sqlite` and `check_database` do.
    """
    import psycopg

    from agentpost.db.postgres_check import check_database

    try:
        connection = psycopg.connect(url, connect_timeout=30, autocommit=True)
    except psycopg.OperationalError as error:
        raise ConnectionError(f"{_first_line(error)}. Check AGENTPOST_DATABASE_URL.") from None
    except psycopg.ProgrammingError:
        # What the driver says of an address it cannot read repeats it, password included.
        raise ValueError("AGENTPOST_DATABASE_URL is not a URL that can be read") from None
    try:
        with connection:
            check_database(connection, url)
            found = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            tables = {row[0] for row in connection.execute(_POSTGRES_TABLES.encode())}
            rows, kept = [], None
            if found != (None,):
                rows = connection.execute(_REVISION.encode()).fetchall()
                tables |= _reachable(connection)
                found = connection.execute(f"SELECT to_regclass('{_SUPPORT}')".encode()).fetchone()
                if found != (None,):
                    kept = connection.execute(_KEPT.encode()).fetchone()
    except psycopg.Error as error:
        raise OSError(f"the database cannot be read: {_first_line(error)}") from None
    other = "name an empty database, or a schema of our own, with AGENTPOST_DATABASE_URL"
    if _has_to_be_upgraded("the database", tables, rows, kept, other):
        _upgrade_in_subprocess("postgres", url)


def _reachable(connection: Any) -> set[str]:
    """Which of our tables are found by their bare names, in whatever schema."""
    names = sorted(_SURELY_OURS)
    rows = connection.execute(
        "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL", (names,)
    )
    return {row[0] for row in rows}


def _has_to_be_upgraded(
    path: str, tables: set[str], rows: list[Any], kept: Any, other: str
) -> bool:
    """Whether there is something to do; raises `OSError` when the database is not one of ours, or
    newer than we are and no longer for us.

    Args:
        kept: the row with the oldest revision whose code may use it, None without one.
        other: how to take another database.
    """
    revision = str(rows[0][0]) if len(rows) == 1 else None
    numbered = revision is not None and re.fullmatch(r"\d{4}", revision)
    if revision is None or not numbered or not tables >= _SURELY_OURS:
        strangers = sorted(name for name in tables if not name.startswith(_OF_OTHERS_BUT_FINE))
        if not strangers and not rows:
            return True
        named = ", ".join(strangers[:_TABLES_NAMED_MAX]) or "alembic_version"
        more = ", …" if len(strangers) > _TABLES_NAMED_MAX else ""
        raise OSError(
            f"{path} belongs to another program: it has the tables {named}{more}."
            f" To use agentpost, {other}."
        )
    if revision not in revisions():
        if kept is not None and kept[0] in revisions():
            log.warning("schema_newer", schema=revision, known=newest_revision())
            return False
        raise OSError(
            f"{path} was made by a newer version of agentpost (its schema is {revision}, this"
            f" version knows {newest_revision()}), which this one can no longer use. Start that"
            " version, or restore a backup from before the upgrade."
        )
    return revision != newest_revision()


def _upgrade_in_subprocess(kind: str, target: str) -> None:
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
        why = last or f"the process that does it ended with {child.returncode}"
        raise OSError(
            f"the database could not be brought up to date: {why}. Nothing in it was changed: the"
            " version that it worked with can still use it."
        )


def sqlite_engine(path: Path) -> Engine:
    """SQLAlchemy's view of our SQLite file."""
    from sqlalchemy import create_engine, event, pool

    # Connected by ourselves: in a URL, some characters of a path would mean something.
    engine = create_engine(
        "sqlite://", creator=partial(sqlite3.connect, path), poolclass=pool.NullPool
    )

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
    import psycopg
    from sqlalchemy import create_engine, pool

    # Connected by libpq: SQLAlchemy does not read every URL that libpq does.
    connect = partial(psycopg.connect, url)
    return create_engine("postgresql+psycopg://", creator=connect, poolclass=pool.NullPool)


def upgrade(engine: Engine, target: str = "head") -> None:
    """Run what is missing, in one transaction; several processes may come at once, one of them
    does it."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import text

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        config.attributes["connection"] = connection
        command.upgrade(config, target)
        if target in ("head", newest_revision()):
            connection.execute(text(_FORGET))
            connection.execute(text(_KEEP), {"serves_from": SERVES_FROM})
    engine.dispose()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _explained(error: Exception) -> str:
    """One line: what the database said, and of which statement."""
    from sqlalchemy.exc import DBAPIError

    if not isinstance(error, DBAPIError):
        return reason_of(error)
    said = _first_line(error.orig or error)
    statement = " ".join((error.statement or "").split())
    if len(statement) > _STATEMENT_CHARACTERS_MAX:
        statement = statement[:_STATEMENT_CHARACTERS_MAX] + "…"
    return f"{said} (statement: {statement})" if statement else said


def _main() -> int:
    target = os.environ[_TARGET]
    sqlite = sys.argv[1] == "sqlite"
    try:
        upgrade(sqlite_engine(Path(target)) if sqlite else postgres_engine(target))
    except Exception as error:
        print(_explained(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
