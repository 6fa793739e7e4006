"""Migrations: they make what `db.tables` declares, on each database, however often they are run."""

import re
import subprocess
import sys
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect

from agentpost.db import migrate
from agentpost.db.tables import metadata
from tests.conformance.adapters import Backend, Embedded, Scaled

UPGRADE = """
import sys, pathlib
from agentpost.db import migrate
kind, place = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
if kind == "sqlite":
    migrate.upgrade_sqlite(pathlib.Path(place))
else:
    migrate.upgrade_postgres(place)
"""


def engine_of(backend: Backend) -> Engine:
    if isinstance(backend, Embedded):
        return migrate.sqlite_engine(backend.path)
    assert isinstance(backend, Scaled)
    return migrate.postgres_engine(backend.url)


def differences(backend: Backend) -> list[Any]:
    """What alembic would change to make the database what is declared."""
    with engine_of(backend).connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        found: list[Any] = compare_metadata(
            MigrationContext.configure(connection, opts=options), metadata
        )
        return found


def conditions(backend: Backend) -> dict[str, set[str]]:
    """What each partial index asks for, which alembic does not compare."""
    with engine_of(backend).connect() as connection:
        where = f"{connection.dialect.name}_where"
        return {
            str(index["name"]): words(index["dialect_options"][where])
            for table in metadata.tables
            for index in inspect(connection).get_indexes(table)
            if index.get("dialect_options", {}).get(where) is not None
        }


def declared_conditions() -> dict[str, set[str]]:
    return {
        str(index.name): words(index.dialect_options["sqlite"]["where"])
        for table in metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["sqlite"]["where"] is not None
    }


def words(condition: object) -> set[str]:
    """A condition without its grammar: PostgreSQL tells it in its own way."""
    return set(re.findall(r"\w+", str(condition).lower())) - {"in", "any", "array", "text"}


def test_an_empty_database_becomes_what_is_declared(backend: Backend) -> None:
    backend.upgrade()
    assert differences(backend) == []


def test_the_comparison_sees_what_is_missing(upgraded: Backend) -> None:
    with engine_of(upgraded).begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_jobs_unowned")
        connection.exec_driver_sql("ALTER TABLE works ADD COLUMN surplus TEXT")
    assert {difference[0] for difference in differences(upgraded)} == {
        "add_index",
        "remove_column",
    }


def test_partial_indexes_have_their_condition(upgraded: Backend) -> None:
    assert conditions(upgraded) == declared_conditions()


def test_an_upgrade_again_changes_nothing(upgraded: Backend) -> None:
    engine = engine_of(upgraded)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO meta (name, value) VALUES ('a', 'b')")
    upgraded.upgrade()
    migrate.upgrade(engine_of(upgraded))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM meta").fetchall() == [("a",)]
    assert differences(upgraded) == []


def test_several_processes_may_upgrade_at_once(backend: Backend) -> None:
    if isinstance(backend, Embedded):
        arguments = ["sqlite", str(backend.path)]
    else:
        assert isinstance(backend, Scaled)
        arguments = ["postgres", backend.url]
    upgrades = [
        subprocess.Popen(
            [sys.executable, "-c", UPGRADE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for upgrade in upgrades:
        assert upgrade.stdout is not None
        assert upgrade.stdout.readline() == "ready\n"
    outcomes = [(upgrade.communicate("go\n", 60), upgrade.returncode) for upgrade in upgrades]
    assert [code for _, code in outcomes] == [0, 0, 0], outcomes
    assert differences(backend) == []


def test_a_renamed_table_keeps_its_rows(backend: Backend) -> None:
    """Revision 0015 gives columns and tables other names."""
    migrate.upgrade(engine_of(backend), "0014")
    with engine_of(backend).begin() as connection:
        for table, values in {
            "messages": (
                "'msg_1', 'acc_1', 'key_1', 'cnv_1', 'hi', NULL, NULL, NULL, 'k', 'f', 0, '[]',"
                " 'waiting', NULL, NULL, 0, NULL, NULL, 11, 12, NULL, NULL, 'processing', NULL,"
                " NULL, 0, 0, 0, 1, 1, 1, 1, 1, 1"
            ),
            "jobs": (
                "'exe_1', 'acc_1', 'cnv_1', 'msg_1', 'wrk_1', 'execution', 'A', 'running', NULL,"
                " 'agent:f', '[]', NULL, NULL, NULL, NULL, 'n', 1, 25, 21, 22, 23, 0, 0, 1, 1,"
                " NULL, NULL, 1"
            ),
            "uploads (id, account_id, status, filename, content_type, size, blob, created_at,"
            " post_by, keep_by, takes)": "'upl_1', 'a', 'ready', 'a', 't', 30, 'x', 1, 1, 1, 31",
            "doomed_blobs": "'files/1', 41, 42",
            "holds": "'msg_1', 51",
        }.items():
            connection.exec_driver_sql(f"INSERT INTO {table} VALUES ({values})")
    backend.upgrade()
    with engine_of(backend).connect() as connection:
        for query, row in {
            "SELECT turn_wait_deadline, reply_deadline, expires_at FROM messages": (11, 12, 1),
            "SELECT calls, calls_at_takeover, takeovers, recover_requests FROM jobs": (
                25,
                21,
                22,
                23,
            ),
            "SELECT copies, swept FROM uploads": (31, 0),
            "SELECT blob, due_at, tries FROM pending_deletions": ("files/1", 41, 42),
            "SELECT subject, owner FROM reader_locks": ("msg_1", 51),
        }.items():
            assert [tuple(found) for found in connection.exec_driver_sql(query)] == [row]
