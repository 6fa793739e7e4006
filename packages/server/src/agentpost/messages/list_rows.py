"""Which messages of a key fit a filter, and the rows of an account with exactly some id or name."""

import json
from collections.abc import Sequence
from typing import Final

from agentpost.db.filtered import OWNED, Conditions, containing, newest
from agentpost.db.session import Row, Tx
from agentpost.domain import ids
from agentpost.domain.times import MINUTE
from agentpost.messages.filter_rules import MessageFilter

_TEXTS: Final = ("text", "idempotency_key", "conversation", "metadata_json")
_CONTAINS: Final = "(" + " OR ".join(f"LOWER({each}) LIKE ? ESCAPE '!'" for each in _TEXTS) + ")"
_ID_IS_OLDER: Final = MINUTE
"""A message's id is made this long before it is accepted, at the most."""


def page(
    tx: Tx,
    owner: tuple[str, str],
    filters: MessageFilter,
    now: int,
    columns: Sequence[str],
    *,
    before: str | None = None,
    since: str = "",
    limit: int,
) -> tuple[list[Row], str | None]:
    """Messages that fit and are older than the id ``before``, newest first: these columns, of which
    the first is the id, and their metadata. The second value is where to go on, see
    `filtered.newest`. ``owner``: the column ``account_id`` or ``key_id``, and the id in it."""
    column, values = owner[0], list(owner[1:])
    fits = Conditions()
    fits.add("expires_at > ?", now)
    fits.equal("status", filters.status.value if filters.status else None)
    fits.equal("key_id", filters.key_id)
    fits.add("created_at >= ?", filters.created_after)
    fits.add("created_at < ?", filters.created_before)
    if filters.text is not None:
        part = containing(filters.text)
        escaped = containing(json.dumps(filters.text)[1:-1])  # as metadata are stored
        fits.add(_CONTAINS, part, part, part, escaped)
    for label in filters.metadata:
        # As it was written: a label and its text stand so in the column, or it does not have them.
        fits.add("replace(metadata_json, ?, '') <> metadata_json", json.dumps(dict([label]))[1:-1])
    if filters.ids or filters.conversation_ids:
        if column == "account_id":
            fits.require_account(owner[1])
        else:
            fits.equal(*owner)
        column = "id" if filters.ids else "conversation_id"
        values = list(filters.ids or filters.conversation_ids)
    if filters.created_after is not None:
        since = ids.at(ids.MESSAGE, filters.created_after - _ID_IS_OLDER)
    rows, more = newest(
        tx,
        "messages",
        (*columns, "metadata_json"),
        values,
        fits,
        before=before or ids.last(ids.MESSAGE),
        since=since,
        limit=limit,
        column=column,
    )
    return [row for row in rows if _has(row[-1], filters.metadata)], more


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
