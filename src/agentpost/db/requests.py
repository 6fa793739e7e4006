"""The request inspector's rows: what was asked of the API and what it answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import RequestRecord
from agentpost.domain.request_filter import RequestFilter

REQUESTS = Mapper(RequestRecord, "requests", "ON CONFLICT DO NOTHING")
SCANNED_MAX = 20_000
"""How many requests a page of the inspector looks through at most."""
_LIKE = re.compile("[%_!]")
_LINES = f"SELECT {', '.join(REQUESTS.columns[: REQUESTS.columns.index('request_body')])}"
"""What a list shows: the columns before the bodies, which may be long."""
_SCANNED = (
    "SELECT id FROM requests WHERE account_id = ? AND id < ? AND id >= ?"
    " ORDER BY id DESC LIMIT 1 OFFSET ?"
)
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

    At most `SCANNED_MAX` rows are looked at, so that a filter that fits almost nothing stays fast.
    The second value is the id to go on from as the next ``before``; None at the end.
    """
    conditions, params = ["1 = 1"], list[Any]()
    for column, value in (("key_id", wanted.key_id), ("error", wanted.error)):
        if value is not None:
            conditions.append(f"{column} = ?")
            params.append(value)
    if wanted.method is not None:
        conditions.append("method = ?")
        params.append(wanted.method)
    if wanted.status is not None:
        conditions.append("status BETWEEN ? AND ?")
        params.extend(wanted.status)
    if wanted.path is not None:
        conditions.append("LOWER(path) LIKE ? ESCAPE '!'")
        params.append("%" + _LIKE.sub(r"!\g<0>", wanted.path.lower()) + "%")
    since = wanted.since or ""
    sql = (
        f"{_LINES} FROM ({_LINES} FROM requests WHERE account_id = ? AND id < ? AND id >= ?"
        f" ORDER BY id DESC LIMIT {SCANNED_MAX}) AS newest"
        f" WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
    )
    found = REQUESTS.all(tx, sql, (account_id, before, since, *params, limit))
    if len(found) == limit:
        return found, found[-1].id
    scanned = tx.one(_SCANNED, (account_id, before, since, SCANNED_MAX - 1))
    return found, scanned[0] if scanned else None


def get(tx: Tx, account_id: str, request_id: str) -> RequestRecord | None:
    """One request of an account."""
    sql = f"{REQUESTS.select} WHERE id = ? AND account_id = ?"
    return REQUESTS.one(tx, sql, (request_id, account_id))
