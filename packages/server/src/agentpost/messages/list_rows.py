"""The list of a key's messages: which of them fit a filter."""

import json

from agentpost.db.filtered import Conditions, newest
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

    The second value is where to go on, see `filtered.newest`.
    """
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
