"""A PostgreSQL of its own for a server under test, durable as by default, on the server's core."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
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
async def product(cores: Cores, *, split: bool = False) -> AsyncIterator[Server]:
    """A ready agentpost with a PostgreSQL of its own, all on one core; ``split``: it has a process
    for the API, and one for jobs."""
    with running(cores) as database:
        url = database.url()
        pid = int((database.home / "data" / "postmaster.pid").read_text().split()[0])
        async with AsyncExitStack() as ends:
            settings = {"DATABASE_URL": url, "ROLE": "api" if split else "all"}
            server = await ends.enter_async_context(servers.running(PRODUCT, cores, settings))
            if split:
                settings["ROLE"] = "worker"
                beside = servers.worker(server, cores, settings)
                server = await ends.enter_async_context(beside)
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
