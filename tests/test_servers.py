"""The tests' own PostgreSQL: databases are separate, templates are built once, nothing is left."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest

from tests.servers import Postgres, end_run, free_port, new_run_dir, shared_postgres
from tests.waiting import eventually


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
    return [row[0] for row in rows]


def test_each_database_is_empty_and_separate(fresh_postgres: Callable[..., str]) -> None:
    first, second = fresh_postgres(), fresh_postgres()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE mine (id int)")
    assert tables(first) == ["mine"]
    assert tables(second) == []


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


def test_a_template_that_failed_is_built_again(postgres: Postgres) -> None:
    name = f"failed_{os.getpid()}"

    def fail(url: str) -> None:
        raise RuntimeError(url)

    with pytest.raises(RuntimeError):
        postgres.template(name, fail)
    with postgres.database(postgres.template(name, lambda url: None)) as url:
        assert tables(url) == []


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


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE one_more (id int)",
        "ALTER TABLE meta DROP COLUMN value",
        "ALTER TABLE meta ALTER COLUMN value SET DEFAULT ''",
        "DROP INDEX ix_keys_account_id",
        "CREATE FUNCTION one_more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "INSERT INTO meta VALUES ('a', 'b'); ANALYZE meta",
        "VACUUM meta",
        "UPDATE agentpost_schema SET version = 9999",
        "INSERT INTO meta SELECT n::text, repeat('x', 1000) FROM generate_series(1, 5000) n",
        "DO $$BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = 64'; END$$",
    ],
)
def test_a_changed_database_is_not_used_again(postgres: Postgres, change: str) -> None:
    schema = postgres.schema()
    with postgres.database(schema) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(change)
    with postgres.database(schema) as another:
        assert another != url


def test_the_server_ends_with_the_process_that_owns_it() -> None:
    run_dir = new_run_dir()
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        server = shared_postgres(run_dir, owner.pid)
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        owner.kill()
        owner.communicate()
        eventually(lambda: not run_dir.exists())
    finally:
        owner.kill()
        end_run(run_dir)


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
