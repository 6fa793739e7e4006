"""Several nodes on one PostgreSQL database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.e2e.fixtures import SERVERS
from tests.e2e.server import AgentServer
from tests.servers import Postgres


class Cluster:
    """Nodes on one database, with one folder for blobs, gates and traces."""

    def __init__(self, url: str, folder: Path, servers: list[AgentServer]) -> None:
        self.url = url
        self._folder = folder
        self._servers = servers
        self._nodes: list[AgentServer] = []
        (folder / "data").mkdir()

    def start(self, role: str = "all", **settings: object) -> AgentServer:
        home = self._folder / f"node{len(self._nodes)}"
        node = AgentServer(home, database_url=self.url, role=role, **settings)
        (home / "data").symlink_to(self._folder / "data")
        if self._nodes:
            node.gates, node.trace_file = self._nodes[0].gates, self._nodes[0].trace_file
        self._nodes.append(node)
        self._servers.append(node)
        return node.start()

    def stop(self) -> None:
        with ExitStack() as ends:
            for node in self._nodes:
                ends.push(node)

    def run(self, sql: str) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute(sql.encode())

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(sql.encode()).fetchall()


@contextmanager
def clustered(
    postgres: Postgres, folder: Path, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """Nodes that run until the end of the block; a failure shows their logs."""
    module = request.node.getparent(pytest.Module)
    servers = module.stash.setdefault(SERVERS, [])
    with postgres.database(postgres.schema()) as url:
        made = Cluster(url, folder, servers)
        yield made
        made.stop()
        servers.clear()


@pytest.fixture
def cluster(
    postgres: Postgres, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    with clustered(postgres, tmp_path, request) as made:
        yield made


@pytest.fixture(scope="module")
def shared_cluster(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """One for tests that leave its nodes as they were."""
    with clustered(postgres, tmp_path_factory.mktemp("cluster"), request) as made:
        yield made
