"""The request inspector's rows: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import RequestRecord

REQUESTS = Mapper(RequestRecord, "requests", "ON CONFLICT DO NOTHING")
_COUNT = (
    "INSERT INTO request_log_days (account_id, day, bytes, dropped) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (account_id, day) DO UPDATE SET bytes = request_log_days.bytes + excluded.bytes,"
    " dropped = request_log_days.dropped + excluded.dropped"
)
_COUNTED = "SELECT bytes FROM request_log_days WHERE account_id = ? AND day = ?"


def insert(tx: Tx, records: Sequence[RequestRecord]) -> None:
    """Keep a handful of requests in one statement."""
    REQUESTS.insert_all(tx, records)


def count(tx: Tx, account_id: str, day: int, size: int, dropped: int) -> int:
    """Add to what the log took up of an account on a day, in bytes, and to how many requests it
    left out; all bytes of that day so far, other nodes' included. Account "": those of nobody."""
    tx.execute(_COUNT, (account_id, day, size, dropped))
    return counted(tx, account_id, day)


def counted(tx: Tx, account_id: str, day: int) -> int:
    """The bytes that the log stored for an account on a day."""
    row = tx.one(_COUNTED, (account_id, day))
    return int(row[0]) if row else 0


def of_account(
    tx: Tx, account_id: str, *, before: str, key_id: str | None, failed: bool, limit: int
) -> list[RequestRecord]:
    """An account's requests older than the id ``before``, newest first."""
    conditions, params = ["account_id = ?", "id < ?"], [account_id, before]
    if key_id is not None:
        conditions.append("key_id = ?")
        params.append(key_id)
    if failed:
        conditions.append("status >= 400")
    sql = f"{REQUESTS.select} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
    return REQUESTS.all(tx, sql, (*params, limit))


def get(tx: Tx, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account."""
    sql = f"{REQUESTS.select} WHERE id = ? AND account_id = ?"
    return REQUESTS.one(tx, sql, (request_id, account_id))
