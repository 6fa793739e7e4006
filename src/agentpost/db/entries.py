"""Reading the event log; `db.record` appends to it."""

from __future__ import annotations

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import EntryRecord

ENTRIES = Mapper(EntryRecord, "entries")
_AFTER = f"{ENTRIES.select} WHERE message_id = ? AND seq > ? ORDER BY seq LIMIT ?"


def after(tx: Tx, message_id: str, seq: int, limit: int) -> list[EntryRecord]:
    """Entries of a message after that number, oldest first."""
    return ENTRIES.all(tx, _AFTER, (message_id, seq, limit))
