"""The request inspector's rows: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentpost.db import columns
from agentpost.db.session import Tx


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


_COLUMNS = columns.names(RequestRecord)
_VALUES = columns.getter(RequestRecord)
_SELECT = columns.select(RequestRecord, "requests")


def insert(tx: Tx, records: Sequence[RequestRecord]) -> None:
    """Keep a handful of requests in one statement."""
    values = [value for record in records for value in _VALUES(record)]
    tx.execute(_insert_sql(len(records)), values)


@lru_cache(maxsize=128)
def _insert_sql(count: int) -> str:
    row = f"({', '.join('?' * len(_COLUMNS))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES {rows} ON CONFLICT DO NOTHING"


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
