"""The events that are kept for readers of an account, numbered in the order of their commits.

An event's id tells when its transaction began. Transactions do not commit in that order, so a
reader that went on from an id could miss an event. A number is given to what is committed, by a
transaction of its own that locks the account's row: whatever commits later gets a higher one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agentpost.db.session import Tx
from agentpost.db.statements import Change, ChangeOf, Value
from agentpost.record.events import NumberedEvent

_LOCK = "SELECT last_n FROM event_readers WHERE account_id = ? /*for update*/"
_NEW = (
    "SELECT k.event_id, e.at, e.name FROM event_numbers k JOIN events e ON e.id = k.event_id"
    " WHERE k.account_id = ? AND k.n IS NULL ORDER BY k.event_id LIMIT ?"
)
_HEADS = (
    "SELECT k.n, k.event_id, e.name, m.conversation, m.key_id FROM event_numbers k"
    " JOIN events e ON e.id = k.event_id LEFT JOIN messages m ON m.id = e.message_id"
    " WHERE k.account_id = ? AND k.n > ? ORDER BY k.n LIMIT ?"
)
_EVENT = "SELECT id, name, at, data_json FROM events WHERE id = ?"


class EventHead(NamedTuple):
    """What a filter asks of an event; ``key_id`` is that of its message's sender, None when the
    message is gone."""

    n: int
    event_id: str
    name: str
    conversation: str | None
    key_id: str | None


# An event of the transaction is to be read; it gets its number later.
add = ChangeOf[str, str]("INSERT INTO event_numbers (event_id, account_id, n) VALUES (?, ?, NULL)")


# Until when the account's events are kept; None when nobody has read any.
kept_until = Value[int, str]("SELECT kept_until FROM event_readers WHERE account_id = ?")
# Keep the account's events until then, or longer.
keep = Change[str, int](
    "INSERT INTO event_readers (account_id, kept_until, last_n) VALUES (?, ?, 0)"
    " ON CONFLICT (account_id) DO UPDATE SET kept_until = excluded.kept_until"
    " WHERE event_readers.kept_until < excluded.kept_until"
)


def is_new(tx: Tx, account_id: str) -> bool:
    """Whether there are events without a number."""
    return tx.one(_NEW, (account_id, 1)) is not None


def give_numbers(tx: Tx, account_id: str, limit: int) -> int:
    """Number what was committed since; at most so many. The last number given."""
    row = tx.one(_LOCK, (account_id,))
    last: int = row[0] if row else 0
    # Events of one transaction have one time: a job's end comes before what it means for messages.
    new = sorted(tx.all(_NEW, (account_id, limit)), key=lambda row: row[1:])
    for event_id, _, _ in new:
        last += 1
        tx.execute("UPDATE event_numbers SET n = ? WHERE event_id = ?", (last, event_id))
    if new:
        tx.execute("UPDATE event_readers SET last_n = ? WHERE account_id = ?", (last, account_id))
    return last


def heads(tx: Tx, account_id: str, after: int, limit: int) -> list[EventHead]:
    """The account's numbered events after that number, oldest first."""
    return [EventHead(*row) for row in tx.all(_HEADS, (account_id, after, limit))]


def events(tx: Tx, heads: Sequence[EventHead]) -> list[NumberedEvent]:
    """These with what they say."""
    rows = [(head.n, tx.one(_EVENT, (head.event_id,))) for head in heads]
    return [NumberedEvent(n, *row) for n, row in rows if row is not None]
