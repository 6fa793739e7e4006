"""PostgreSQL: reads use the connection that was used last, and wait for no COMMIT."""

import asyncio
import threading

import psycopg
import pytest

from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Tx
from tests.conformance.adapters import Scaled
from tests.waiting import PATIENCE, eventually

VALUE = "SELECT value FROM meta WHERE name = ?"


@pytest.fixture
def db(postgres_db: PostgresDatabase) -> PostgresDatabase:
    return postgres_db


def backend(tx: Tx) -> int:
    """The server's process, and what it answers with a query that went ahead."""
    tx.prefetch(VALUE, ("none",))
    row = tx.one("SELECT pg_backend_pid()")
    assert row is not None
    assert tx.all(VALUE, ("none",)) == []
    return int(row[0])


def in_transaction(scaled: Scaled) -> int:
    with psycopg.connect(scaled.url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle' AND application_name = 'agentpost'"
        ).fetchone()
    assert row is not None
    return int(row[0])


async def test_one_after_the_other_reads_share_a_connection(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    assert len({await db.read(backend) for _ in range(8)}) == 1
    eventually(lambda: in_transaction(scaled) == 0)
    both = threading.Barrier(2, timeout=PATIENCE)

    def beside(tx: Tx) -> int:
        found = backend(tx)
        both.wait()
        return found

    first, second = await asyncio.gather(db.read(beside), db.read(beside))
    assert first != second


async def test_what_a_failed_read_leaves_and_what_the_server_ends_harms_no_other(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    def fail(tx: Tx) -> None:
        tx.prefetch("SELECT 1 / ?", (0,))
        tx.one("SELECT 1")

    def raises(tx: Tx) -> None:
        backend(tx)
        raise LookupError

    for _ in range(2):
        before = await db.read(backend)
        with pytest.raises(psycopg.errors.DivisionByZero):
            await db.read(fail)
        with pytest.raises(LookupError):
            await db.read(raises)
        await db.write(backend)
        scaled.cut("agentpost")
        assert await db.read(backend) != before
    eventually(lambda: in_transaction(scaled) == 0)
