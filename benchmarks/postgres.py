"""A PostgreSQL of its own for a server under test, durable as by default, on the server's core."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks import servers
from benchmarks.servers import PRODUCT, Cores, Server, pin
from tests.servers import Postgres

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{socket}'
max_connections = 100
"""


@asynccontextmanager
async def product(cores: Cores) -> AsyncIterator[Server]:
    """A ready agentpost with a PostgreSQL of its own, both on the server's core."""
    with running(cores) as database:
        url = database.url()
        pid = int((database.home / "data" / "postmaster.pid").read_text().split()[0])
        async with servers.running(PRODUCT, cores, {"DATABASE_URL": url}) as server:
            yield replace(server, database_url=url, database_pid=pid)


@contextmanager
def running(cores: Cores) -> Iterator[Postgres]:
    """A server with an empty database ``postgres``, fsync on; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="bench-pg-"))
    folder.chmod(0o711)  # the server may run as another user, who passes through
    server = Postgres(folder / "postgres", SETTINGS)
    pin(cores.server)  # a child stays where its parent was
    try:
        server.start()
        pin(cores.load)
        yield server
    finally:
        pin(cores.load)
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
