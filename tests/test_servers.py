"""The tests' own PostgreSQL: databases are separate, templates are built once, nothing is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.database_pool import state_of
from tests.servers import Postgres, end_with
from tests.waiting import PATIENCE, eventually


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
    return [row[0] for row in rows]


def test_a_template_is_built_once_and_copied(postgres: Postgres) -> None:
    built: list[str] = []

    def build(url: str) -> None:
        built.append(url)
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE seeded (id int)")

    name = f"template_{os.getpid()}"
    for _ in range(2):
        with postgres.database(postgres.template(name, build)) as url:
            assert tables(url) == ["seeded"]
    assert len(built) == 1


def test_a_dropped_database_is_gone_though_in_use(postgres: Postgres) -> None:
    with postgres.database() as url:
        user = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError):
        user.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_database_is_emptied_and_used_again(postgres: Postgres) -> None:
    schema = postgres.schema()
    with postgres.database(schema) as url:
        user = psycopg.connect(url, autocommit=True)
        user.execute("INSERT INTO meta VALUES ('name', 'value')")
    with pytest.raises(psycopg.OperationalError):
        user.execute("SELECT 1")
    with postgres.database(schema) as again, psycopg.connect(again) as connection:
        assert again == url
        assert connection.execute("SELECT * FROM meta").fetchall() == []
        assert connection.execute("SELECT count(*) FROM agentpost_schema").fetchone() == (1,)


CHANGES = (
    "VACUUM meta",
    "INSERT INTO meta VALUES ('a', 'b'); ANALYZE meta",
    "CREATE TABLE one_more (id int)",
    "ALTER TABLE meta ALTER COLUMN value SET DEFAULT ''",
    "ALTER TABLE meta DROP COLUMN value",
    "DROP INDEX ix_keys_account_id",
    "CREATE FUNCTION one_more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "UPDATE agentpost_schema SET version = 9999",
    "DO $$BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = 64'; END$$",
)


def test_a_change_is_seen(postgres: Postgres, fresh_postgres: Callable[..., str]) -> None:
    """Of whatever is not a row of an ordinary table."""
    with psycopg.connect(fresh_postgres(postgres.schema()), autocommit=True) as connection:
        for change in CHANGES:
            before = state_of(connection)
            connection.execute(change.encode())
            assert state_of(connection) != before, change


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE one_more (id int)",
        "INSERT INTO meta SELECT n::text, repeat('x', 1000) FROM generate_series(1, 5000) n",
    ],
)
def test_a_changed_database_is_not_used_again(postgres: Postgres, change: str) -> None:
    """Nor is one that has grown large."""
    schema = postgres.schema()
    with postgres.database(schema) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(change.encode())
    with postgres.database(schema) as another:
        assert another != url


# A shell in the background has its children ignore the signal; PostgreSQL does not.
HEEDS_QUIT = """
import signal, time
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
print("ready", flush=True)
time.sleep(600)
"""


def test_a_server_ends_with_the_process_that_owns_it(tmp_path: Path) -> None:
    """Told as PostgreSQL is: by the signal that it takes for an order to end at once."""
    data = tmp_path / "run" / "postgres" / "data"
    data.mkdir(parents=True)
    with ExitStack() as until:
        owner = until.enter_context(subprocess.Popen(["sleep", "600"]))
        command = [sys.executable, "-c", HEEDS_QUIT]
        server = until.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        assert server.stdout is not None
        server.stdout.readline()
        for each in (owner, server):
            until.callback(each.kill)
        (data / "postmaster.pid").write_text(f"{server.pid}\n{data}\n")
        end_with(owner.pid, tmp_path / "run")
        assert server.poll() is None
        owner.kill()
        owner.wait()
        assert server.wait(PATIENCE) == -signal.SIGQUIT
        (data / "postmaster.pid").unlink()
        eventually(lambda: not (tmp_path / "run").exists(), what="the end of the folder")
