"""Reading the ledger for people: its lines with what they were for."""

from agentpost.accounts.rows import LEDGER
from agentpost.credits.usage_rows import KEY_OF_CHARGE
from agentpost.db.session import Tx
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


def lines(
    tx: Tx, account_id: str, *, before: str, limit: int, holds: bool
) -> list[tuple[LedgerRecord, str | None, str | None, str | None, str | None, str | None]]:
    """An account's lines older than the id ``before``, newest first, each with its job's title,
    message and work, as far as they are still there, the key and the user of the message.
    ``holds``: also holds and releases."""
    end = len(LEDGER.columns)
    rows = tx.all(_NEWEST if holds else _MOVES, (account_id, before, limit))
    return [(LEDGER.of(row[:end]), *row[end:]) for row in rows]
