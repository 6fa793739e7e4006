"""The request inspector's rows: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.db.filtered import Conditions, newest
from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import RequestRecord
from agentpost.domain.request_filter import RequestFilter

REQUESTS = Mapper(RequestRecord, "requests", "ON CONFLICT DO NOTHING")
_LINE_COLUMNS = REQUESTS.columns[: REQUESTS.columns.index("request_body")]
"""What a list shows: the columns before the bodies, which may be long."""
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
    tx: Tx, account_id: str, wanted: RequestFilter, *, before: str, limit: int
) -> tuple[list[RequestRecord], str | None]:
    """An account's requests older than the id ``before``, newest first, without their bodies.

    The second value: see `filtered.newest`.
    """
    fits = Conditions()
    fits.equal("key_id", wanted.key_id)
    fits.equal("method", wanted.method)
    fits.equal("error", wanted.error)
    fits.add("status BETWEEN ? AND ?", *(wanted.status or (None,)))
    fits.contains("path", wanted.path)
    found, more = newest(
        tx,
        REQUESTS.table,
        _LINE_COLUMNS,
        account_id,
        fits,
        before=before,
        since=wanted.since or "",
        limit=limit,
    )
    return [REQUESTS.of(row) for row in found], more


def get(tx: Tx, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account."""
    sql = f"{REQUESTS.select} WHERE id = ? AND account_id = ?"
    return REQUESTS.one(tx, sql, (request_id, account_id))
