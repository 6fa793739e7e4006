"""The log of attempts: one row for each HTTP request a delivery was tried with.

Rows stay as long as their delivery (`db.retention`), the oldest of one with many go before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from agentpost.db import columns
from agentpost.db.session import Tx
from agentpost.domain.endpoints import AttemptRecord

_ROWS = 6
"""In one statement. psycopg reads and prepares a statement of over 50 parameters anew each time."""
_COLUMNS = columns.names(AttemptRecord)
_VALUES = columns.getter(AttemptRecord)
_SELECT = columns.select(AttemptRecord, "attempts")
_DELETE_OLDEST = "DELETE FROM attempts WHERE event_id = ? AND endpoint_id = ? AND n <= ?"


def add(tx: Tx, records: Sequence[AttemptRecord], keep: int) -> None:
    """Log what one commit records; a delivery keeps its newest ``keep``.

    A row that is there already stays as it is: a log must not hold up deliveries.
    """
    for first in range(0, len(records), _ROWS):
        some = records[first : first + _ROWS]
        tx.execute(_insert_sql(len(some)), [value for one in some for value in _VALUES(one)])
    for record in records:
        if record.n > keep:
            tx.execute(_DELETE_OLDEST, (record.event_id, record.endpoint_id, record.n - keep))


@lru_cache(maxsize=_ROWS)
def _insert_sql(count: int) -> str:
    row = f"({', '.join('?' * len(_COLUMNS))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO attempts ({', '.join(_COLUMNS)}) VALUES {rows} ON CONFLICT DO NOTHING"


def of_deliveries(
    tx: Tx, endpoint_id: str, event_ids: Sequence[str]
) -> dict[str, list[AttemptRecord]]:
    """Event id -> its attempts at this endpoint, oldest first; only events that have some."""
    found: dict[str, list[AttemptRecord]] = {}
    if event_ids:
        marks = ", ".join("?" * len(event_ids))
        sql = f"{_SELECT} WHERE event_id IN ({marks}) AND endpoint_id = ? ORDER BY event_id, n"
        for row in tx.all(sql, (*event_ids, endpoint_id)):
            record = AttemptRecord(*row)
            found.setdefault(record.event_id, []).append(record)
    return found
