"""Messages by their idempotency keys in order, and whether one is the last of its conversation."""

from __future__ import annotations

from agentpost.db.messages import MESSAGES
from agentpost.db.session import Tx
from agentpost.domain.records import MessageRecord

_BETWEEN = (
    f"{MESSAGES.select} WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key <= ?"
    " ORDER BY idempotency_key DESC LIMIT ?"
)
_FOLLOWED = "SELECT 1 FROM messages WHERE conversation_id = ? AND id > ? LIMIT 1"


def between(tx: Tx, key_id: str, low: str, high: str, limit: int) -> list[MessageRecord]:
    """A key's messages whose idempotency keys lie in a range, from the highest on."""
    return MESSAGES.all(tx, _BETWEEN, (key_id, low, high, limit))


def highest(tx: Tx, key_id: str, low: str, high: str) -> MessageRecord | None:
    """The message with the highest idempotency key of a range."""
    return next(iter(between(tx, key_id, low, high, 1)), None)


def is_followed(tx: Tx, conversation_id: str, message_id: str) -> bool:
    """Whether a conversation has a message that is newer than that one."""
    return tx.one(_FOLLOWED, (conversation_id, message_id)) is not None
