"""Which messages of a key fit a filter, and the rows of an account with exactly some id or name."""

import json
from collections.abc import Sequence
from typing import Final

from agentpost.db.filtered import OWNED, Conditions, newest
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.times import MINUTE
from agentpost.messages.filter_rules import ListFilter
from agentpost.turns import conversation_rows

_ID_IS_OLDER = MINUTE
"""A message's id is made this long before it is accepted, at the most."""


def page(
    tx: Tx, key_id: str, filters: ListFilter, now: int, *, before: str, limit: int
) -> tuple[list[str], str | None]:
    """The ids of messages of the key that fit and are older than the id ``before``, newest first.
    The second value is where to go on, see `filtered.newest`."""
    column, value = "key_id", key_id
    if filters.conversation is not None:
        conversation_id = conversation_rows.find(tx, key_id, filters.conversation)
        if conversation_id is None:
            return [], None
        column, value = "conversation_id", conversation_id
    fits = Conditions()
    fits.add("expires_at > ?", now)
    fits.equal("key_id", key_id)
    fits.equal("status", filters.status.value if filters.status else None)
    fits.add("created_at >= ?", filters.created_after)
    fits.add("created_at < ?", filters.created_before)
    for label in filters.metadata:
        # As it was written: a label and its text stand so in the column, or it does not have them.
        fits.add("replace(metadata_json, ?, '') <> metadata_json", json.dumps(dict([label]))[1:-1])
    since = ""
    if filters.created_after is not None:
        since = ids.at(ids.MESSAGE, filters.created_after - _ID_IS_OLDER)
    rows, more = newest(
        tx,
        "messages",
        ("id", "metadata_json"),
        [value],
        fits,
        before=before,
        since=since,
        limit=limit,
        column=column,
    )
    return [row[0] for row in rows if _has(row[1], filters.metadata)], more


def _has(metadata_json: str | None, labels: tuple[tuple[str, str], ...]) -> bool:
    """Exactly those: what looks like a label may be the text of another one."""
    if not labels:
        return True
    metadata = json.loads(metadata_json or "{}")
    return all(metadata.get(name) == text for name, text in labels)


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
