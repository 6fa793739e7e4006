"""The start on a PostgreSQL database that cannot serve, and behind a pooler that can."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.servers import Postgres, free_port
from tests.waiting import eventually

CONFIG = """
[databases]
* = host={host} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
"""


@contextmanager
def pgbouncer(postgres: Postgres, database: str, mode: str, folder: Path) -> Iterator[str]:
    """The address of a database behind PgBouncer, which refuses to run as root."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (apt-get install pgbouncer)")
    port = free_port()
    file = postgres.home / f"pgbouncer-{port}.ini"  # a folder that `nobody` may enter
    file.write_text(CONFIG.format(host=postgres.home / "socket", port=port, mode=mode))
    process = subprocess.Popen(
        [program, "--quiet", file],
        user="nobody" if os.geteuid() == 0 else None,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable"

    def is_there() -> bool:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert process.poll() is None, "PgBouncer ended"
            return False
        return True

    try:
        eventually(is_there, what="PgBouncer")
        yield url
    finally:
        process.kill()
        process.wait()


def refusal(folder: Path, url: str) -> str:
    """What `agentpost serve` says when it does not start on that database."""
    server = AgentServer(folder / "refused", database_url=url)
    code, said = server.run("serve")
    assert (code, said.count("\n")) == (1, 1), said
    return said


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_without_sessions_is_refused_at_the_start(
    postgres: Postgres, fresh_postgres: Callable[..., str], tmp_path: Path, mode: str
) -> None:
    name = fresh_postgres().partition("?")[0].rpartition("/")[2]
    with pgbouncer(postgres, name, mode, tmp_path) as url:
        assert "pool_mode = session" in refusal(tmp_path, url)
    with psycopg.connect(postgres.url(name)) as connection:
        row = connection.execute("SELECT to_regclass('meta')").fetchone()
    assert row == (None,), "nothing was made in it"


def test_a_pooler_in_session_mode_serves(
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
    tmp_path: Path,
    callers: Callable[..., Caller],
) -> None:
    name = fresh_postgres(postgres.schema()).partition("?")[0].rpartition("/")[2]
    with pgbouncer(postgres, name, "session", tmp_path) as url:
        server = AgentServer(tmp_path / "server", database_url=url).start()
        caller = callers(server)
        message = caller.send([["start", "Work", [["step", "one"], ["return", "ok"]]]])
        assert caller.final(message["id"])["status"] == "completed"
        assert server.stop() == 0


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_refused_at_the_start(
    postgres: Postgres, tmp_path: Path, encoding: str
) -> None:
    name = f"test_{encoding.lower()}_{os.getpid()}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'".encode()
        )
        try:
            said = refusal(tmp_path, postgres.url(name))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    assert encoding in said
    assert "ENCODING 'UTF8'" in said
