"""The statements of the purge and of the request log, on both databases."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from agentpost.clock import new_id
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database, Tx
from agentpost.db.sqlite import SqliteDatabase
from agentpost.domain import ids
from agentpost.explain import timeline_rows
from agentpost.record.records import RequestRecord
from agentpost.requests import actions as requests, rows as request_rows
from agentpost.requests.filter_rules import request_filter
from agentpost.retention import rows as retention_rows
from agentpost.webhooks import delivery_rows
from agentpost.webhooks.records import AttemptRecord
from tests.harness.context import request_record
from tests.harness.rows import insert
from tests.servers import empty_sqlite

EVENT = {"account_id": "acc_1", "name": "x", "data_json": "{}", "at": 0}


@pytest.fixture
def db(schema_url: str | None, tmp_path: Path) -> Iterator[Database]:
    made: Database
    if schema_url is not None:
        made = PostgresDatabase(schema_url, connections=2)
    else:
        shutil.copyfile(empty_sqlite(), tmp_path / "test.db")
        made = SqliteDatabase(tmp_path / "test.db")
    made.open()
    yield made
    made.close()


def record(n: int, account_id: str | None = "acc_1") -> RequestRecord:
    outcome: dict[str, object] = {} if n % 2 else {"status": 404, "error": "not_found"}
    body = {"response_bytes": 3_000_000_000, "response_body": "{}"}
    return request_record(account_id, n, id=f"req_{n:032x}", key_id=None, **body, **outcome)


async def test_the_request_log(db: Database) -> None:
    made = [record(n) for n in range(70)]
    for batch in (made[:64], made[64:], made[60:]):  # a batch written twice is kept once
        await db.write(partial(request_rows.REQUESTS.insert_all, records=batch))
    await db.write(lambda tx: request_rows.REQUESTS.insert_all(tx, [record(1_000, None)]))

    wanted = request_filter({"status": "failed"}, 0)
    lines, more = await requests.recent(db, "acc_1", wanted, before=made[50].id, limit=3)
    assert lines == [replace(made[n], response_body=None) for n in (48, 46, 44)]
    assert more == made[44].id
    assert await db.read(lambda tx: request_rows.get(tx, "acc_1", made[7].id)) == made[7]
    gone = [
        await db.write(lambda tx: retention_rows.delete_requests(tx, made[60].id, 40))
        for _ in range(3)
    ]
    assert gone == [40, 20, 0]


async def test_the_first_page_of_the_request_log_leaves_out_nothing(db: Database) -> None:
    """Whatever order the database sorts text in."""
    made = RequestRecord(**{**asdict(record(1)), "id": new_id(ids.REQUEST, 2**56 - 1)})
    await db.write(lambda tx: request_rows.REQUESTS.insert_all(tx, [made]))
    lines, end = await requests.recent(db, "acc_1")
    assert ([line.id for line in lines], end) == ([made.id], None)


async def test_the_end_of_a_log_and_the_longest_calls_are_read_alone(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for n, at in enumerate((3, 20, 25), 1):
            call = {"fingerprint": "", "state": "done", "value": "null", "summary": f"call {n}"}
            insert(tx, "calls", owner="exe_a", n=n, at=at, **call)
            insert(tx, "entries", message_id="msg_a", seq=n, type="state", at=at, body_json="{}")

    await db.write(fill)

    def read(tx: Tx) -> list[object]:
        return [
            [row[0] for row in timeline_rows.entries(tx, "msg_a", 2)],
            timeline_rows.calls(tx, "exe_a", 1),
            timeline_rows.signals(tx, "exe_a", 1),
            timeline_rows.longest_calls(tx, 1, "exe_a", 2),
            timeline_rows.count(tx, "msg_a", ["msg_a", "exe_a"]),
        ]

    longest = [(3, 20, "call 2"), (20, 25, "call 3")]
    assert await db.read(read) == [[2, 3], [(3, 25, "call 3")], [], longest, 6]


async def column(db: Database, table: str, name: str) -> list[object]:
    """What is left in a column, in order."""
    rows = await db.read(lambda tx: tx.all(f"SELECT {name} FROM {table} ORDER BY {name}"))
    return [row[0] for row in rows]


async def test_old_mails_go_and_young_ones_stay(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for n in range(5):
            mail = {"recipient": "a@b", "subject": "s", "text": "t", "created_at": 0, "attempts": 0}
            insert(tx, "mails", id=f"mail_{n}", account_id="acc_1", **mail)

    await db.write(fill)
    gone = [
        await db.write(lambda tx: retention_rows.delete_mails(tx, "mail_3", 2)) for _ in range(3)
    ]
    assert gone == [2, 1, 0]
    assert await column(db, "mails", "id") == ["mail_3", "mail_4"]


async def test_old_events_of_no_message_go_with_their_deliveries(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for n, message_id in enumerate([None, "msg_1", None, None]):
            insert(tx, "events", id=f"evt_{n}", message_id=message_id, **EVENT)
            counts = {"attempts": 1, "attempts_made": 1, "created_at": 0, "status": "delivered"}
            insert(tx, "deliveries", event_id=f"evt_{n}", endpoint_id="whe_1", **counts)

    await db.write(fill)
    gone = [
        await db.write(lambda tx: retention_rows.delete_loose_events(tx, "evt_3", 1)) for _ in "123"
    ]
    assert gone == [1, 1, 0]
    for table, name in (("events", "id"), ("deliveries", "event_id")):
        assert await column(db, table, name) == ["evt_1", "evt_3"]


async def test_attempts_count_as_rows_of_their_event(db: Database) -> None:
    """A commit that deletes stays short, however often the events were tried."""

    def fill(tx: Tx) -> None:
        for n in range(3):
            insert(tx, "events", id=f"evt_{n}", message_id="msg_1", **EVENT)
        made = [
            AttemptRecord(f"evt_{n}", endpoint, try_, 0, 200, None, "ok", 3)
            for n in range(3)
            for endpoint in ("whe_1", "whe_2")
            for try_ in range(1, 5)
        ]
        delivery_rows.add_attempts(tx, made, keep=4)
        delivery_rows.add_attempts(tx, [replace(each, response="again") for each in made], keep=4)

    await db.write(fill)
    logs = await db.read(lambda tx: delivery_rows.attempts_of(tx, "whe_2", ["evt_2", "evt_0"]))
    assert {event: [each.n for each in log] for event, log in logs.items()} == {
        "evt_0": [1, 2, 3, 4],
        "evt_2": [1, 2, 3, 4],
    }
    assert {each.response for log in logs.values() for each in log} == {"ok"}
    assert await db.read(lambda tx: delivery_rows.attempts_of(tx, "whe_2", [])) == {}
    gone = [
        await db.write(lambda tx: retention_rows.delete_message_parts(tx, "msg_1", 10))
        for _ in "123"
    ]
    assert gone == [18, 9, 0]
    assert await column(db, "attempts", "event_id") == []


async def test_sessions_and_login_links_that_are_over_go(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for n in range(4):
            row = {"digest": f"d{n}", "account_id": "a", "user_id": "u", "expires_at": n * 10}
            insert(tx, "login_tokens", **row)
            insert(tx, "sessions", created_at=0, last_used_at=0, **row)

    await db.write(fill)
    gone = [
        await db.write(lambda tx: retention_rows.delete_sessions(tx, 20, 10, 4)) for _ in range(3)
    ]
    assert gone == [4, 1, 0]
    assert await column(db, "login_tokens", "digest") == ["d3"]
    assert await column(db, "sessions", "digest") == ["d2", "d3"]
