"""The two ways to run, as the ports' suites see them: what a process opens, and opens again."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from agentpost.db import migrate
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database
from agentpost.db.sqlite import SqliteDatabase
from agentpost.engine.base import Engine
from agentpost.engine.dispatch import NoticeEngine
from agentpost.wakeups.base import Wakeups
from agentpost.wakeups.notices import PostgresNotices
from agentpost.wakeups.postgres import PostgresWakeups
from tests.servers import Postgres, empty_sqlite


@dataclass(frozen=True)
class Node:
    """The adapters of one process; the engine is not started."""

    name: str
    db: Database
    wakeups: Wakeups
    engine: Engine

    async def close(self) -> None:
        await self.engine.stop()
        await self.wakeups.stop()
        self.db.close()


class Backend(Protocol):
    """Where nodes keep what they share."""

    def database(self) -> Database:
        """The database, as one more process would open it; to be opened and closed."""
        ...

    def upgrade(self) -> None:
        """Bring the schema up to date, as the server does when it starts."""
        ...

    def nodes(self) -> list[Node]:
        """One node, and another where there can be several; to be opened and closed."""
        ...


class Embedded:
    """One process on SQLite."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "agentpost.db"

    def database(self) -> Database:
        return SqliteDatabase(self.path)

    def upgrade(self) -> None:
        migrate.upgrade_sqlite(self.path)

    def nodes(self) -> list[Node]:
        return [Node("node_0", self.database(), Wakeups(), Engine("node_0"))]


class Scaled:
    """Several processes on PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = url

    def database(self) -> Database:
        return PostgresDatabase(self.url)

    def upgrade(self) -> None:
        migrate.upgrade_postgres(self.url)

    def nodes(self) -> list[Node]:
        return [self._node(f"node_{n}") for n in range(2)]

    def cut(self, name: str = "%") -> None:
        """End the connections of that application name, as a restart of the server would."""
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                " datname = current_database() AND pid <> pg_backend_pid()"
                " AND application_name LIKE %s",
                (name,),
            )

    def backends(self, name: str) -> set[int]:
        """The server's processes for the connections of that application name."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name LIKE %s",
                (name,),
            )
            return {pid for (pid,) in found}

    def _node(self, name: str) -> Node:
        notices = PostgresNotices(self.url)
        wakeups = PostgresWakeups(self.url, notices)
        engine = NoticeEngine(name, notices)
        return Node(name, self.database(), wakeups, engine)


@pytest.fixture(params=["embedded", "scaled"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each way to run, empty."""
    if request.param == "embedded":
        return Embedded(tmp_path)
    fresh: Callable[[], str] = request.getfixturevalue("fresh_postgres")
    return Scaled(fresh())


@pytest.fixture
def scaled(postgres: Postgres, fresh_postgres: Callable[[str], str]) -> Scaled:
    """A database with its schema, for what only several nodes can show."""
    return Scaled(fresh_postgres(postgres.schema()))


@pytest.fixture(params=["embedded", "scaled"])
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each way to run, with the schema an upgrade of an empty one has made."""
    if request.param == "scaled":
        backend: Backend = request.getfixturevalue("scaled")
        return backend
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    return Embedded(tmp_path)


@pytest.fixture
async def db(backend: Backend) -> AsyncIterator[Database]:
    """An open database with an empty table ``samples``."""
    database = backend.database()
    database.open()
    columns = "id TEXT PRIMARY KEY, n BIGINT, body TEXT"
    await database.write(lambda tx: tx.execute(f"CREATE TABLE samples ({columns})"))
    yield database
    database.close()


@pytest.fixture(params=["embedded", "scaled"])
async def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Node]]:
    """Every node there can be, connected; the embedded one has no tables, and needs none here."""
    backend: Backend = Embedded(tmp_path)
    if request.param == "scaled":
        backend = request.getfixturevalue("scaled")
    async with _connected(backend) as made:
        yield made


@pytest.fixture
async def pair(scaled: Scaled) -> AsyncIterator[list[Node]]:
    """Two nodes on one database, connected."""
    async with _connected(scaled) as made:
        yield made


@pytest.fixture
async def postgres_db(scaled: Scaled) -> AsyncIterator[PostgresDatabase]:
    """An open database with its schema, for what only PostgreSQL has."""
    database = PostgresDatabase(scaled.url)
    database.open()
    yield database
    database.close()


@asynccontextmanager
async def _connected(backend: Backend) -> AsyncIterator[list[Node]]:
    made = backend.nodes()
    for node in made:
        node.db.open()
        await node.wakeups.start()
    yield made
    for node in made:
        await node.close()
