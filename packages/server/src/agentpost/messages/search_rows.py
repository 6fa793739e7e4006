"""The rows of an account with exactly that id or name. Each query uses an index; those that begin
with what a caller wrote name the account."""

from collections.abc import Sequence
from typing import Final

from agentpost.db.filtered import OWNED
from agentpost.db.session import Tx
from agentpost.domain import ids

_OF_ID: Final = {
    ids.MESSAGE: "SELECT id FROM messages WHERE id = ? AND account_id = ?",
    ids.JOB: "SELECT message_id FROM jobs WHERE id = ? AND account_id = ?",
    ids.EVENT: "SELECT message_id FROM events WHERE id = ? AND account_id = ?",
    ids.REQUEST: "SELECT id FROM requests WHERE id = ? AND account_id = ?",
    ids.CONVERSATION: "SELECT id FROM conversations WHERE id = ? AND account_id = ?",
}
# The key of messages from the web app is the account.
_OWNERS: Final = (
    "(SELECT id FROM keys WHERE account_id = ? UNION ALL SELECT id FROM accounts WHERE id = ?)"
)
_CONVERSATIONS: Final = (
    f"SELECT id FROM conversations WHERE name = ? AND owner IN {_OWNERS} AND {OWNED}"
    " ORDER BY id DESC LIMIT ?"
)
_MESSAGES_OF_KEY: Final = (
    f"SELECT id FROM messages WHERE idempotency_key = ? AND key_id IN {_OWNERS} AND {OWNED}"
    " ORDER BY id DESC LIMIT ?"
)
_NAMES: Final = (
    "SELECT r.id, m.conversation FROM requests r JOIN messages m ON m.id = r.message_id"
    " WHERE r.id IN ({})"
)
_MESSAGES_OF_CONVERSATIONS: Final = (
    f"SELECT id FROM messages WHERE conversation_id IN ({{}}) AND {OWNED} ORDER BY id DESC LIMIT ?"
)


def by_id(tx: Tx, account_id: str, prefix: str, one: str) -> str | None:
    """The message, request or conversation that an id leads to: that of a job or event is its
    message. None: the account has nothing with that id."""
    row = tx.one(_OF_ID[prefix], (one, account_id))
    return row[0] if row else None


def conversations(tx: Tx, account_id: str, name: str, limit: int) -> tuple[str, ...]:
    """The conversations of that name, one for each key that has it, newest first."""
    rows = tx.all(_CONVERSATIONS, (name, account_id, account_id, account_id, limit))
    return tuple(row[0] for row in rows)


def of_idempotency_key(tx: Tx, account_id: str, key: str, limit: int) -> tuple[str, ...]:
    """The messages that any API key sent with that idempotency key, newest first."""
    rows = tx.all(_MESSAGES_OF_KEY, (key, account_id, account_id, account_id, limit))
    return tuple(row[0] for row in rows)


def conversation_names(tx: Tx, request_ids: Sequence[str]) -> dict[str, str | None]:
    """Of a page of requests, those about a message: the name of its conversation."""
    if not request_ids:
        return {}
    sql = _NAMES.format(", ".join("?" * len(request_ids)))
    return {row[0]: row[1] for row in tx.all(sql, request_ids)}


def of_conversations(
    tx: Tx, account_id: str, conversation_ids: tuple[str, ...], limit: int
) -> tuple[str, ...]:
    """The newest messages of these conversations."""
    sql = _MESSAGES_OF_CONVERSATIONS.format(", ".join("?" * len(conversation_ids)))
    return tuple(row[0] for row in tx.all(sql, (*conversation_ids, account_id, limit)))
