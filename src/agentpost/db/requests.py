"""The request inspector's rows: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentpost.db import columns
from agentpost.db.session import Tx

ROW_BYTES = 300
"""Of a row and its places in the indexes, without its texts."""


@dataclass(slots=True)
class RequestRecord:
    """One request; bodies are there when they were small, without secrets."""

    id: str
    at: int
    account_id: str | None  # None: nobody we know
    key_id: str | None
    method: str
    path: str
    status: int
    error: str | None
    ms: int
    request_bytes: int
    response_bytes: int
    request_body: str | None
    response_body: str | None
    traceparent: str | None

    @property
    def size(self) -> int:
        """About how many bytes the row takes: its texts, and a constant for all the rest."""
        texts = (self.path, self.request_body, self.response_body, self.traceparent)
        return ROW_BYTES + sum(len(text.encode()) for text in texts if text)


_COLUMNS = columns.names(RequestRecord)
_VALUES = columns.getter(RequestRecord)
_SELECT = columns.select(RequestRecord, "requests")


_COUNT = (
    "INSERT INTO request_log_days (account_id, day, bytes, dropped) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (account_id, day) DO UPDATE SET bytes = request_log_days.bytes + excluded.bytes,"
    " dropped = request_log_days.dropped + excluded.dropped"
)
_COUNTED = "SELECT bytes FROM request_log_days WHERE account_id = ? AND day = ?"


def insert(tx: Tx, records: Sequence[RequestRecord]) -> None:
    """Keep a handful of requests in one statement."""
    values = [value for record in records for value in _VALUES(record)]
    tx.execute(_insert_sql(len(records)), values)


@lru_cache(maxsize=128)
def _insert_sql(count: int) -> str:
    row = f"({', '.join('?' * len(_COLUMNS))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES {rows} ON CONFLICT DO NOTHING"


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
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
    return [RequestRecord(*row) for row in tx.all(sql, (*params, limit))]


def get(tx: Tx, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account."""
    row = tx.one(f"{_SELECT} WHERE id = ? AND account_id = ?", (request_id, account_id))
    return RequestRecord(*row) if row else None
