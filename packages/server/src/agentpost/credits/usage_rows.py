"""What an account used between two times: messages, jobs and credits, summed in three ways."""

from typing import Any, Final

from agentpost.accounts.rows import LEDGER
from agentpost.credits.rules import UsageGroup
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.times import DAY
from agentpost.record.records import LedgerRecord

KEY_OF_CHARGE: Final = "COALESCE(g.key_id, m.key_id)"
"""Of a ledger line ``g`` and the message ``m`` of its job: lines of earlier versions name no key,
later ones name it when their message is deleted, too."""
CONVERSATION_OF_CHARGE: Final = "j.conversation_id"
_MESSAGES: Final = "FROM messages m WHERE m.account_id = ? AND m.id >= ? AND m.id < ? GROUP BY 1"
_JOBS: Final = (
    "FROM messages m JOIN message_jobs l ON l.message_id = m.id"
    " JOIN jobs j ON j.id = l.job_id AND j.message_id = m.id"
    " WHERE m.account_id = ? AND m.id >= ? AND m.id < ? AND j.kind = 'execution' GROUP BY 1"
)
_CHARGES: Final = (
    "FROM ledger g LEFT JOIN jobs j ON j.id = g.job_id LEFT JOIN messages m ON m.id = j.message_id"
    " WHERE g.account_id = ? AND g.id >= ? AND g.id < ? AND g.kind = 'charge' GROUP BY 1"
)
MESSAGES: Final = {
    UsageGroup.DAY: f"SELECT m.created_at / {DAY}, COUNT(*) {_MESSAGES}",
    UsageGroup.KEY: f"SELECT m.key_id, COUNT(*) {_MESSAGES}",
    UsageGroup.CONVERSATION: f"SELECT m.conversation_id, COUNT(*) {_MESSAGES}",
}
JOBS: Final = {
    UsageGroup.DAY: f"SELECT m.created_at / {DAY}, COUNT(*) {_JOBS}",
    UsageGroup.KEY: f"SELECT m.key_id, COUNT(*) {_JOBS}",
    UsageGroup.CONVERSATION: f"SELECT m.conversation_id, COUNT(*) {_JOBS}",
}
CHARGES: Final = {
    UsageGroup.DAY: f"SELECT g.at / {DAY}, SUM(g.amount), COUNT(*) {_CHARGES}",
    UsageGroup.KEY: f"SELECT {KEY_OF_CHARGE}, SUM(g.amount), COUNT(*) {_CHARGES}",
    UsageGroup.CONVERSATION: f"SELECT {CONVERSATION_OF_CHARGE}, SUM(g.amount), COUNT(*) {_CHARGES}",
}


def messages(
    tx: Tx, account_id: str, group: UsageGroup, since: int, until: int
) -> list[tuple[Any, int]]:
    """(day since 1970, key or conversation; messages), from ``since`` to before ``until``."""
    return _sums(tx, MESSAGES[group], account_id, ids.MESSAGE, since, until)


def jobs(
    tx: Tx, account_id: str, group: UsageGroup, since: int, until: int
) -> list[tuple[Any, int]]:
    """As `messages`, the jobs that these messages started; refused starts are none."""
    return _sums(tx, JOBS[group], account_id, ids.MESSAGE, since, until)


def charges(
    tx: Tx, account_id: str, group: UsageGroup, since: int, until: int
) -> list[tuple[Any, int, int]]:
    """As `messages`, the millionths charged then, and in how many charges; None for the group:
    their message is deleted."""
    return _sums(tx, CHARGES[group], account_id, ids.LEDGER, since, until)


def _sums(
    tx: Tx, sql: str, account_id: str, prefix: str, since: int, until: int
) -> list[tuple[Any, ...]]:
    rows = tx.all(sql, (account_id, ids.at(prefix, since), ids.at(prefix, until)))
    return [(group, *map(int, sums)) for group, *sums in rows]


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
