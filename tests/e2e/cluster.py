"""Several nodes on one PostgreSQL database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
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


@pytest.fixture
def cluster(
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Cluster]:
    module = request.node.getparent(pytest.Module)
    servers = module.stash.setdefault(SERVERS, [])  # a failure shows their logs
    made = Cluster(fresh_postgres(postgres.schema()), tmp_path, servers)
    yield made
    made.stop()
    servers.clear()
