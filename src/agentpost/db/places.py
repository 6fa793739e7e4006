"""Whose something is that a client names as the place in a list where it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentpost.db.session import Tx
from agentpost.domain import ids

_OWNERS: Final[Mapping[str, str]] = {
    ids.MESSAGE: "SELECT account_id, key_id FROM messages WHERE id = ?",
    ids.SCHEDULE: "SELECT account_id, key_id FROM schedules WHERE id = ?",
    ids.REQUEST: "SELECT account_id, key_id FROM requests WHERE id = ?",
    ids.EVENT: "SELECT account_id, NULL FROM events WHERE id = ?",
    ids.UPLOAD: "SELECT account_id, NULL FROM uploads WHERE id = ?",
    ids.WORK: "SELECT account_id, NULL FROM works WHERE id = ?",
    ids.KEY: "SELECT account_id, NULL FROM keys WHERE id = ?",
    ids.CONVERSATION: "SELECT account_id, NULL FROM conversations WHERE id = ?",
}


def owner(tx: Tx, one: str) -> tuple[str | None, str | None] | None:
    """The account, and the key where a key has such things alone; None for what is not there."""
    prefix = next((prefix for prefix in _OWNERS if ids.is_id(prefix, one)), None)
    if prefix is None:
        return None
    row = tx.one(_OWNERS[prefix], (one,))
    return None if row is None else (row[0], row[1])
