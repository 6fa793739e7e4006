"""No statement of the server walks a table that grows: history must not make it slower.

Both databases are asked how they would run every statement of the rows. Walking a partial
index that holds only what is open is fine; anything else needs an index that can be searched.
PostgreSQL is asked with sequential scans made expensive: then it says whether an index could serve.
"""

import importlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentpost.accounts import rows as account_rows
from agentpost.db.postgres_pipeline import translate
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.messages import rows as message_rows
from agentpost.record import history_rows
from agentpost.retention import rows as retention_rows
from agentpost.webhooks import delivery_rows
from tests.db.statements import UNREADABLE, statements
from tests.house.tree import on_floor
from tests.schema import TABLES
from tests.servers import Postgres, empty_sqlite

COMPARED = re.compile(r"(\w+)(?:, \w+)?\)? (?:<|>|<=|>=) \(?\?")
SMALL = {
    "meta": "a handful of values",
    "nodes": "one row for each process",
    "accounts": "made by the operator",
    "users": "invited by operators and owners",
    "user_mails": "until they are sent, a few hundred in an hour at the most",
    "account_storage": "one row for each account",
    "keys": "made by the operator",
    "endpoints": "ten for an account",
    "reader_locks": "one row for each read that is held now",
    "login_tokens": "for days at the most, a few for each user",
}
"""Tables that do not grow with use, so that they may be walked. All others do."""
OPEN_ONLY = {
    "ix_jobs_unowned",
    "ix_jobs_executing",
    "ix_jobs_queued",
    "ix_jobs_running",
    "ix_jobs_watch_due",
    "ix_jobs_queue_due",
    "ix_messages_running",
    "ix_messages_waiting",
    "ix_messages_busy",
    "ix_works_deleted",
    "ix_mails_due",
    "ix_uploads_due",
    "ix_deliveries_due",
}
"""Partial indexes that hold only what is open."""
WALKS = {
    "blobs.account_rows._DIFFERENT": "with `doctor --full`, to look at everything",
    "blobs.account_rows._RECOUNT": "a command that an operator types when a number is wrong",
    "operations.doctor_rows._QUERIES": "a command that an operator types, to look at everything",
    "sessions.rows._ALL_LIVE": "a command that an operator types; a session ends after 30 days",
    "sessions.rows.delete_by_beginning": "a command that an operator types, as the one before",
    "webhooks.delivery_rows.give_back_all": "once, when a server that is alone starts",
}
"""Statements that may walk, and why."""
TABLE = re.compile(r"^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")
ALIASES = {"m": "messages", "j": "jobs", "d": "deliveries", "e": "endpoints", "l": "message_jobs"}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "agentpost.db"
    shutil.copyfile(empty_sqlite(), path)
    with closing(sqlite3.connect(path)) as opened:
        yield opened


def plan(connection: sqlite3.Connection, sql: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", tuple("?" * sql.count("?")))
    return [row[3] for row in rows]


def walks(steps: list[str]) -> list[str]:
    """The steps that walk what grows."""
    found = []
    for step in steps:
        match = TABLE.match(step)
        if match is None or match[1] in ("CONSTANT", "found") or " VIRTUAL TABLE " in step:
            continue
        table = match[1] if match[1] in TABLES else ALIASES[match[1]]
        if table not in SMALL and match[2] not in OPEN_ONLY:
            found.append(step)
    return found


def test_no_statement_walks_a_table(connection: sqlite3.Connection) -> None:
    steps = {sql: walks(plan(connection, sql)) for place, sql in statements() if place not in WALKS}
    assert {sql: walking for sql, walking in steps.items() if walking} == {}


def test_a_walk_is_seen(connection: sqlite3.Connection) -> None:
    """Also of the kind that stood inside a function, and was not seen for a while."""
    assert walks(plan(connection, "SELECT SUM(amount) FROM ledger WHERE note = ?")) != []
    assert walks(plan(connection, "SELECT id FROM messages ORDER BY id")) != []
    kept = {kept for kept, _ in statements()}
    assert {
        "accounts.rows.held_for",
        "accounts.rows.set_limits",
        "operations.doctor_rows._QUERIES",
        "retention.rows._OF_JOB",
    } <= kept
    assert set(WALKS) <= kept, "an exception that nothing needs"
    functions = {f.rpartition(".")[2] for f in UNREADABLE}
    assert functions <= {
        name for source in on_floor("rows") for name in vars(importlib.import_module(source.module))
    }


# --- PostgreSQL -----------------------------------------------------------------------------------
# Joins depend on how much there is: without rows, it would as well read a whole index.
MANY_WORKS = """
INSERT INTO works SELECT 'wrk_' || n, 'acc', 'cnv_' || n / 5, '', n, n, '', NULL, '{}', 0, NULL
FROM generate_series(1, 5000) n
"""
MANY_FILES = """
INSERT INTO files (blob, work_id, path, account_id, name, content_type, kind, size, revision,
  created_at, replaced)
SELECT 'files/' || n, 'wrk_' || n / 4, n, 'acc', n, 't', 'text', 1, 'r', n, 0
FROM generate_series(1, 20000) n
"""


@pytest.fixture(scope="module")
def analyzed(postgres: Postgres) -> Iterator["psycopg.Connection[tuple[Any, ...]]"]:
    with (
        postgres.database(postgres.schema()) as url,
        psycopg.connect(url, autocommit=True) as opened,
    ):
        opened.execute("SET enable_seqscan = off")
        opened.execute(MANY_WORKS)
        opened.execute(MANY_FILES)
        opened.execute("ANALYZE works, files")
        yield opened


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def scans(connection: "psycopg.Connection[tuple[Any, ...]]", sql: str) -> list[dict[str, Any]]:
    """The nodes of PostgreSQL's plan that read all of what grows."""
    row = connection.execute(b"EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + translate(sql)).fetchone()
    assert row is not None
    plans = row[0] if isinstance(row[0], list) else json.loads(row[0])
    of_growing = [
        node
        for node in nodes(plans[0]["Plan"])
        if "Relation Name" in node and node["Relation Name"] not in SMALL
    ]
    return [node for node in of_growing if node["Node Type"] == "Seq Scan" or is_walked(node)]


def is_walked(node: dict[str, Any]) -> bool:
    """Whether a node reads a whole index of more than what is open."""
    index = node.get("Index Name")
    return index is not None and "Index Cond" not in node and index not in OPEN_ONLY


def test_postgresql_finds_an_index_for_every_statement(
    analyzed: "psycopg.Connection[tuple[Any, ...]]",
) -> None:
    scanned = {sql: scans(analyzed, sql) for place, sql in statements() if place not in WALKS}
    assert {sql: steps for sql, steps in scanned.items() if steps} == {}


# --- what has to be found by more than its owner --------------------------------------------------
@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (message_rows._NEXT_WAITING, "ix_messages_waiting (conversation_id=?"),
        (message_rows._BUSY_DUE, "ix_messages_busy (turn_wait_deadline<?)"),
        (job_rows.running_in.sql, "ix_jobs_running (conversation_id=?"),
        (job_rows.resumable.sql, "ix_jobs_queued (account_id=?"),
        (
            history_rows.jobs_settled_before.sql,
            "ix_jobs_settled (conversation_id=? AND settled_at<?)",
        ),
        (
            history_rows.messages_before.sql,
            "ix_messages_conversation (conversation_id=? AND turn_no<?)",
        ),
        (retention_rows.expired_with_jobs.sql, "ix_messages_expiring ("),
        (retention_rows._LOOSE_EVENTS, "ix_events_message_id (message_id=?)"),
        (account_rows.held_for.sql, "ix_ledger_job (job_id=?)"),
        (retention_rows._ATTACHED, "ix_uploads_message (message_id=?)"),
        (delivery_rows._DELETE_OLDEST, "PRIMARY KEY (event_id=? AND endpoint_id=? AND n<?)"),
        # Neither by walking its work's files nor all its versions.
        (work_rows._REWRITE, "ix_files_work (work_id=? AND path=? AND replaced<?)"),
    ],
    ids=lambda given: given.split(" ")[0] if given.startswith("ix_") else "",
)
def test_one_is_found_among_those_of_its_owner(
    connection: sqlite3.Connection, sql: str, wanted: str
) -> None:
    assert wanted in plan(connection, sql)[0]


def test_the_end_of_a_turn_finds_who_waits_by_the_index_of_those(
    connection: sqlite3.Connection,
) -> None:
    steps = plan(connection, message_rows._VERSION)
    assert any("ix_messages_waiting (conversation_id=?" in step for step in steps)


def test_no_statement_relies_on_the_order_of_text() -> None:
    """Beyond ids: PostgreSQL sorts text as the database's language does, which has its own ideas
    about punctuation. Ids of one kind have one prefix and hex digits: they sort alike everywhere.
    So do the idempotency keys of one prefix, and others in between are left out.
    """
    texts = {
        column.name for columns in TABLES.values() for column in columns if column.type == "TEXT"
    }
    source = "".join(each.text for each in on_floor("rows"))
    compared = set(COMPARED.findall(source))
    assert {"expires_at", "id"} <= compared, "this test reads the statements wrongly"
    assert compared & texts == {"id", "event_id", "message_id", "idempotency_key"}
