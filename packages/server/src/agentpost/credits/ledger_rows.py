"""Reading the ledger for people: its lines with what they were for, and what was used by day."""

from agentpost.accounts.rows import LEDGER
from agentpost.credits.usage_rows import CONVERSATION_OF_CHARGE, KEY_OF_CHARGE
from agentpost.db.session import Tx
from agentpost.db.statements import Rows
from agentpost.domain.times import DAY
from agentpost.record.records import LedgerRecord

_LINES = (
    f"SELECT {', '.join(f'g.{name}' for name in LEDGER.columns)}, j.title, m.id, w.id,"
    f" {KEY_OF_CHARGE}, m.user_id"
    " FROM ledger g LEFT JOIN jobs j ON j.id = g.job_id"
    " LEFT JOIN messages m ON m.id = j.message_id"
    " LEFT JOIN works w ON w.id = j.work_id AND w.deleted_at IS NULL"
    " WHERE g.account_id = ? AND g.id < ?"
)
_NEWEST = f"{_LINES} ORDER BY g.id DESC LIMIT ?"
_MOVES = f"{_LINES} AND g.kind IN ('grant', 'charge') ORDER BY g.id DESC LIMIT ?"
_CHARGES = (
    f"SELECT g.at / {DAY}, {KEY_OF_CHARGE}, SUM(g.amount), COUNT(*) FROM ledger g"
    " LEFT JOIN jobs j ON j.id = g.job_id LEFT JOIN messages m ON m.id = j.message_id"
    " WHERE g.account_id = ? AND g.id >= ? AND g.kind = 'charge' GROUP BY 1, 2"
)
_BY_CONVERSATION = (
    f"SELECT {CONVERSATION_OF_CHARGE}, SUM(g.amount), COUNT(*) FROM ledger g"
    " JOIN jobs j ON j.id = g.job_id"
    " WHERE g.account_id = ? AND g.id >= ? AND g.kind = 'charge' GROUP BY 1"
    " ORDER BY 2 DESC, 1 LIMIT ?"
)


def lines(
    tx: Tx, account_id: str, *, before: str, limit: int, holds: bool
) -> list[tuple[LedgerRecord, str | None, str | None, str | None, str | None, str | None]]:
    """An account's lines older than the id ``before``, newest first, each with its job's title,
    message and work, as far as they are still there, the key and the user of the message.
    ``holds``: also holds and releases."""
    end = len(LEDGER.columns)
    rows = tx.all(_NEWEST if holds else _MOVES, (account_id, before, limit))
    return [(LEDGER.of(row[:end]), *row[end:]) for row in rows]


def charges(tx: Tx, account_id: str, since: str) -> list[tuple[int, str | None, int, int]]:
    """(day since 1970, key or None, millionths, charges) from the ledger id ``since`` on."""
    rows = tx.all(_CHARGES, (account_id, since))
    return [(row[0], row[1], int(row[2]), row[3]) for row in rows]


def charges_by_conversation(
    tx: Tx, account_id: str, since: str, limit: int
) -> list[tuple[str, int, int]]:
    """(conversation, millionths, charges) of those that used most, from the ledger id ``since``
    on; of jobs that are still there."""
    rows = tx.all(_BY_CONVERSATION, (account_id, since, limit))
    return [(row[0], int(row[1]), row[2]) for row in rows]


# (day since 1970, key, messages) from the message id ``since`` on.
messages = Rows[tuple[int, str, int], str, str](
    f"SELECT created_at / {DAY}, key_id, COUNT(*) FROM messages"
    " WHERE account_id = ? AND id >= ? GROUP BY 1, 2"
)
