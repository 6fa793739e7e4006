"""What a statement to PostgreSQL costs this process, by our pipeline and by psycopg's own.

`python benchmarks/pipeline.py` starts a PostgreSQL of its own and prints the CPU time of a
transaction of fourteen statements, about that of a job's call: the figure that
`agentpost.db.postgres_pipeline` stands for. Psycopg's side does what the port asks for: statements
whose answer is not needed yet wait for the next one, and two have to have changed one row.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import psycopg

from agentpost.db.postgres_pipeline import PipelinedConnection, PostgresTx, translate
from tests.servers import end_run, new_run_dir, shared_postgres

SCHEMA = """
CREATE TABLE t (id text PRIMARY KEY, a bigint, b text, c text, d int);
INSERT INTO t SELECT 'id' || n, n, 'x', 'y', 1 FROM generate_series(0, 999) n
"""
LOCK = "SELECT id, a, b, c, d FROM t WHERE id = ? /*for update*/"
INSERT = "INSERT INTO t (id, a, b, c, d) VALUES (?, ?, ?, ?, ?)"
UPDATE = "UPDATE t SET a = ?, b = ? WHERE id = ?"
TRANSACTIONS = 200
ROUNDS = 3


def by_ours(connection: PipelinedConnection, n: int, name: str) -> None:
    """One transaction through `PostgresTx`."""
    pipeline = connection.statements
    pipeline.begin("BEGIN")
    tx = PostgresTx(pipeline)
    for _ in range(4):
        tx.one(LOCK, (f"id{n % 1000}",))
    for k in range(6):
        tx.execute_nowait(INSERT, (f"{name}{n}.{k}", n, "text of some length " * 3, None, k))
    for _ in range(2):
        tx.update_exactly_one(UPDATE, (n, "z", f"id{n % 1000}"), ValueError())
    pipeline.settle()
    pipeline.commit()


def by_psycopg(connection: PipelinedConnection, n: int, name: str) -> None:
    """The same through `Connection.pipeline` and cursors that take PostgreSQL's own parameters."""
    with connection.pipeline() as pipeline:
        connection.execute(b"BEGIN")
        for _ in range(4):
            cursor = psycopg.RawCursor(connection)
            cursor.execute(translate(LOCK), (f"id{n % 1000}",)).fetchone()
        for k in range(6):
            values = (f"{name}{n}.{k}", n, "text of some length " * 3, None, k)
            psycopg.RawCursor(connection).execute(translate(INSERT), values)
        updates = [psycopg.RawCursor(connection) for _ in range(2)]
        for cursor in updates:
            cursor.execute(translate(UPDATE), (n, "z", f"id{n % 1000}"))
        pipeline.sync()
        assert [cursor.rowcount for cursor in updates] == [1, 1]
        connection.execute(b"COMMIT")


def cpu_ms(
    url: str, transaction: Callable[[PipelinedConnection, int, str], None], name: str
) -> float:
    """CPU time of this process for a transaction, in milliseconds."""
    with PipelinedConnection.connect(url, autocommit=True) as connection:
        for n in range(50):
            transaction(connection, n, f"warm {name} ")
        before = time.process_time()
        for n in range(TRANSACTIONS):
            transaction(connection, n, name)
        spent = time.process_time() - before
        connection.statements.leave()
    return 1_000 * spent / TRANSACTIONS


def main() -> None:
    folder = new_run_dir()
    url = shared_postgres(folder, os.getpid()).url()
    try:
        with psycopg.connect(url) as connection:
            connection.execute(SCHEMA)
        for number in range(ROUNDS):
            ours = cpu_ms(url, by_ours, f"ours {number} ")
            psycopgs = cpu_ms(url, by_psycopg, f"psycopg {number} ")
            print(
                f"ours {ours:.2f} ms, psycopg's {psycopgs:.2f} ms of CPU a transaction", flush=True
            )
    finally:
        end_run(folder)


if __name__ == "__main__":
    main()
