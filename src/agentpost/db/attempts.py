"""The log of attempts: one row for each HTTP request a delivery was tried with.

Rows stay as long as their delivery (`db.retention`), the oldest of one with many go before.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.webhook_records import AttemptRecord

ATTEMPTS = Mapper(AttemptRecord, "attempts", "ON CONFLICT DO NOTHING")
_ROWS = 4
"""In one statement. psycopg reads and prepares a statement of over 50 parameters anew each time."""
_DELETE_OLDEST = "DELETE FROM attempts WHERE event_id = ? AND endpoint_id = ? AND n <= ?"


def add(tx: Tx, records: Sequence[AttemptRecord], keep: int) -> None:
    """Log what one commit records; a delivery keeps its newest ``keep``.

    A row that is there already stays as it is: a log must not hold up deliveries.
    """
    for first in range(0, len(records), _ROWS):
        ATTEMPTS.insert_all(tx, records[first : first + _ROWS])
    for record in records:
        if record.n > keep:
            tx.execute(_DELETE_OLDEST, (record.event_id, record.endpoint_id, record.n - keep))


def of_deliveries(
    tx: Tx, endpoint_id: str, event_ids: Sequence[str]
) -> dict[str, list[AttemptRecord]]:
    """Event id -> its attempts at this endpoint, oldest first; only events that have some."""
    attempts: dict[str, list[AttemptRecord]] = {}
    if event_ids:
        marks = ", ".join("?" * len(event_ids))
        sql = (
            f"{ATTEMPTS.select} WHERE event_id IN ({marks}) AND endpoint_id = ?"
            " ORDER BY event_id, n"
        )
        for record in ATTEMPTS.all(tx, sql, (*event_ids, endpoint_id)):
            attempts.setdefault(record.event_id, []).append(record)
    return attempts
