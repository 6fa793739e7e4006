"""Databases that earlier versions made, with rows in them, become what is declared.

`old_schemas` has what each state of the migrations made, by the revision it says and the commit it
comes from; ``of`` is what an upgrade of an older database left behind with later migrations.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from agentpost.db import migrate
from tests.conformance.adapters import Backend, Embedded, Scaled
from tests.conformance.test_migrations import (
    conditions,
    declared_conditions,
    differences,
    engine_of,
)

OLD = Path(__file__).parents[1] / "db" / "old_schemas"
STATES = sorted({path.name.partition(".")[0] for path in OLD.glob("*.sql")})
FILE = (
    "INSERT INTO files (work_id, path, account_id, message_id, job_id, name, content_type, kind,"
    " size, revision, blob, label, created_at{more}) VALUES ('wrk_1', '{n}.csv', 'acc_1', 'msg_1',"
    " NULL, '{n}.csv', 'text/csv', 'data', 3, '\"r\"', 'files/{n}', NULL, 5{value})"
)
ROWS = (
    "INSERT INTO accounts VALUES ('acc_1', 'a@b.c', 'A', 'self_hosted', 7, 2, 0, '{}', 1)",
    "INSERT INTO ledger VALUES ('led_1', 'acc_1', 'hold', 2, 'exe_1', 1, '', 1)",
    (
        "INSERT INTO messages VALUES ('msg_1', 'acc_1', 'key_1', 'cnv_1', 'hi', NULL, NULL, NULL,"
        " 'k', 'f', 0, '[]', 'running', 1, NULL, 1, 1, NULL, 1, 1, NULL, NULL, 'processing',"
        " NULL, NULL, 0, 0, 0, 1, 1, 1, 1, 1, 1)"
    ),
    "INSERT INTO events VALUES ('evt_1', 'acc_1', 'msg_1', NULL, 'message.completed', '{}', 1)",
    (
        "INSERT INTO deliveries (event_id, endpoint_id, status, attempts, created_at,"
        " next_attempt_at) VALUES ('evt_1', 'whk_1', 'pending', 0, 1, 1)"
    ),
    (
        "INSERT INTO uploads (id, account_id, status, filename, content_type, size, blob,"
        " created_at, post_by, keep_by) VALUES"
        " ('upl_1', 'acc_1', 'ready', 'a', 'text/csv', 30, 'x', 1, 1, 1),"
        " ('upl_2', 'acc_1', 'pending', 'a', 'text/csv', 3000, '', 1, 1, 1)"
    ),
    (
        "INSERT INTO attachments (message_id, n, name, url, kind, size, revision, blob) VALUES"
        " ('msg_1', 0, 'a', NULL, 'data', 300, '', 'attachments/1'),"
        " ('msg_1', 1, '', 'https://a.test/b', 'other', 0, '', NULL)"
    ),
)
REQUEST = (
    "INSERT INTO requests VALUES ('req_{n}', 1, 'acc_1', NULL, 'GET', '/v1/me', 200, NULL, 1, 0, 9,"
    " NULL, '{body}', NULL)"
)


def statements(state: str, backend: Backend) -> list[str]:
    kind = "sqlite" if isinstance(backend, Embedded) else "postgres"
    schema = (OLD / f"{state}.{kind}.sql").read_text().strip().removesuffix(";").split(";\n")
    versions = "replaced" in "".join(schema)
    more, value = (", replaced", ", 0") if versions else ("", "")
    files = [FILE.format(n=n, more=more, value=value) for n in (1, 2)]
    logs = any(line.startswith("CREATE TABLE requests ") for line in schema)
    requests = [REQUEST.format(n=n, body="x" * 3_000) for n in (1, 2)] if logs else []
    return [*schema, *ROWS, *files, *requests]


def fill(state: str, backend: Backend) -> bool:
    """Make the old database; whether it has a request log."""
    made = statements(state, backend)
    if isinstance(backend, Embedded):
        with closing(sqlite3.connect(backend.path)) as connection:
            for statement in made:
                connection.execute(statement)
            connection.commit()
    else:
        assert isinstance(backend, Scaled)
        with psycopg.connect(backend.url) as connection_:
            for statement in made:
                connection_.execute(statement.encode())
    return any("INTO requests" in statement for statement in made)


def ask(backend: Backend) -> Callable[[str], list[tuple[object, ...]]]:
    def asked(sql: str) -> list[tuple[object, ...]]:
        if isinstance(backend, Embedded):
            with closing(sqlite3.connect(backend.path)) as connection:
                return connection.execute(sql).fetchall()
        assert isinstance(backend, Scaled)
        with psycopg.connect(backend.url) as connection_:
            return connection_.execute(sql.encode()).fetchall()

    return asked


def test_every_state_is_here() -> None:
    assert len(STATES) == 14
    assert {state[:4] for state in STATES} == {"0001", "0002", "0003", "0004", "0005"}


@pytest.mark.parametrize("state", STATES)
def test_an_earlier_database_is_upgraded_whole(state: str, backend: Backend) -> None:
    logs = fill(state, backend)
    migrate.upgrade(engine_of(backend))
    assert differences(backend) == []
    assert conditions(backend) == declared_conditions()
    all_ = ask(backend)
    assert all_("SELECT version_num FROM alembic_version") == [(migrate.newest_revision(),)]
    assert all_("SELECT blob, work_id, path, size, replaced FROM files ORDER BY blob") == [
        ("files/1", "wrk_1", "1.csv", 3, 0),
        ("files/2", "wrk_1", "2.csv", 3, 0),
    ]
    assert all_("SELECT id, amount, job_id FROM ledger") == [("led_1", 2, "exe_1")]
    assert all_("SELECT id, turn_state, idempotency_key FROM messages") == [
        ("msg_1", "running", "k")
    ]
    assert all_("SELECT event_id, claimed_until, attempts_made FROM deliveries") == [
        ("evt_1", None, 0)
    ]
    assert all_("SELECT id, copies, swept FROM uploads ORDER BY id") == [
        ("upl_1", 0, 0),
        ("upl_2", 0, 0),
    ]
    assert all_("SELECT account_id, bytes FROM account_storage") == [("acc_1", 3 + 3 + 30 + 300)]
    assert all_("SELECT id, length(response_body) FROM requests ORDER BY id") == (
        [("req_1", 3_000), ("req_2", 3_000)] if logs else []
    )
