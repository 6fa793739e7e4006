"""What an account used between two times: messages, jobs and credits, summed in three ways."""

from typing import Final

from agentpost.accounts.rows import LEDGER
from agentpost.credits.rules import APP, DELETED, UsageGroup, UsageLine
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.times import DAY, iso
from agentpost.record.records import LedgerRecord

KEY_OF_CHARGE: Final = "COALESCE(g.key_id, m.key_id)"
"""Of a ledger line ``g`` and the message ``m`` of its job: lines of earlier versions name no key,
later ones name it when their message is deleted, too."""
_OF_MESSAGE: Final = {
    UsageGroup.DAY: f"m.created_at / {DAY}",
    UsageGroup.KEY: "m.key_id",
    UsageGroup.CONVERSATION: "m.conversation_id",
}
_OF_CHARGE: Final = {
    UsageGroup.DAY: f"g.at / {DAY}",
    UsageGroup.KEY: KEY_OF_CHARGE,
    UsageGroup.CONVERSATION: "j.conversation_id",
}
"""By what messages are summed, and charges."""
_FROM_MESSAGES: Final = "FROM messages m WHERE m.account_id = ? AND m.id >= ? AND m.id < ?"
_FROM_JOBS: Final = (
    "FROM messages m JOIN message_jobs l ON l.message_id = m.id"
    " JOIN jobs j ON j.id = l.job_id AND j.message_id = m.id"
    " WHERE m.account_id = ? AND m.id >= ? AND m.id < ? AND j.kind = 'execution'"
)
_FROM_CHARGES: Final = (
    "FROM ledger g LEFT JOIN jobs j ON j.id = g.job_id LEFT JOIN messages m ON m.id = j.message_id"
    " WHERE g.account_id = ? AND g.id >= ? AND g.id < ? AND g.kind = 'charge'"
)
MESSAGES: Final = {
    group: f"SELECT {value}, COUNT(*) {_FROM_MESSAGES} GROUP BY 1"
    for group, value in _OF_MESSAGE.items()
}
JOBS: Final = {
    group: f"SELECT {value}, COUNT(*) {_FROM_JOBS} GROUP BY 1"
    for group, value in _OF_MESSAGE.items()
}
CHARGES: Final = {
    group: f"SELECT {value}, SUM(g.amount), COUNT(*) {_FROM_CHARGES} GROUP BY 1"
    for group, value in _OF_CHARGE.items()
}


def usage(
    tx: Tx, account_id: str, group: UsageGroup, since: int, until: int, *, with_jobs: bool = False
) -> dict[str, UsageLine]:
    """What was used from ``since`` to before ``until``, by id; without names and titles."""
    lines: dict[str, UsageLine] = {}

    def line_of(value: int | str | None) -> UsageLine:
        id_ = _id(account_id, group, value)
        return lines.setdefault(id_, UsageLine(id_))

    messages = (account_id, ids.at(ids.MESSAGE, since), ids.at(ids.MESSAGE, until))
    charges = (account_id, ids.at(ids.LEDGER, since), ids.at(ids.LEDGER, until))
    for value, count in tx.all(MESSAGES[group], messages):
        line_of(value).messages = int(count)
    if with_jobs:
        for value, count in tx.all(JOBS[group], messages):
            line_of(value).jobs = int(count)
    for value, amount, count in tx.all(CHARGES[group], charges):
        line = line_of(value)
        line.millionths, line.charges = int(amount), int(count)
    return lines


def _id(account_id: str, group: UsageGroup, value: int | str | None) -> str:
    """``value``: days since 1970, a key or a conversation; None: the message is deleted."""
    if value is None:
        return DELETED
    if group is UsageGroup.DAY:
        return iso(int(value) * DAY)[:10]
    return APP if value == account_id else str(value)


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
