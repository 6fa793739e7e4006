"""Reading the event log; `db.record` appends to it."""

from __future__ import annotations

from agentpost.db import columns
from agentpost.db.session import Tx
from agentpost.domain.record import EntryRecord

_AFTER = (
    columns.select(EntryRecord, "entries")
    + " WHERE message_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)


def after(tx: Tx, message_id: str, seq: int, limit: int) -> list[EntryRecord]:
    """Entries of a message after that number, oldest first."""
    return [EntryRecord(*row) for row in tx.all(_AFTER, (message_id, seq, limit))]
