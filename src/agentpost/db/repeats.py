"""Messages by their idempotency keys in order, and whether one is the last of its conversation."""

from __future__ import annotations

from agentpost.db import messages
from agentpost.db.session import Tx
from agentpost.domain.records import MessageRecord

_OF_PREFIX = (
    f"{messages.MESSAGES.select} WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key <= ?"
    # In the order of some languages, others stand between them.
    " AND substr(idempotency_key, 1, ?) = ? ORDER BY idempotency_key DESC LIMIT ?"
)
_FOLLOWED = "SELECT 1 FROM messages WHERE conversation_id = ? AND id > ? LIMIT 1"


def of_prefix(tx: Tx, key_id: str, prefix: str, limit: int) -> list[MessageRecord]:
    """A key's messages whose idempotency keys begin so and go on with hex digits, from the highest
    on."""
    return messages.MESSAGES.all(
        tx, _OF_PREFIX, (key_id, prefix, f"{prefix}g", len(prefix), prefix, limit)
    )


def highest(tx: Tx, key_id: str, prefix: str) -> MessageRecord | None:
    """The one of them with the highest key."""
    return next(iter(of_prefix(tx, key_id, prefix, 1)), None)


def is_followed(tx: Tx, conversation_id: str, message_id: str) -> bool:
    """Whether a conversation has a message that is newer than that one."""
    return tx.one(_FOLLOWED, (conversation_id, message_id)) is not None
