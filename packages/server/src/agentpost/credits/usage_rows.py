"""What an account used between two times: messages, jobs and credits, summed in three ways."""

from dataclasses import dataclass
from typing import Any, Final

from agentpost.accounts.rows import LEDGER
from agentpost.credits.rules import UsageGroup
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import DAY
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


@dataclass(slots=True)
class Sums:
    """``jobs``: those that the messages started; refused starts are none. ``millionths``: of the
    credits that were charged in so many ``charges``."""

    messages: int = 0
    jobs: int = 0
    millionths: int = 0
    charges: int = 0

    @property
    def credits(self) -> float:
        """What was charged."""
        return to_credits(self.millionths)

    def add(self, other: "Sums") -> None:
        """With another one's."""
        self.messages += other.messages
        self.jobs += other.jobs
        self.millionths += other.millionths
        self.charges += other.charges


def sums(
    tx: Tx, account_id: str, group: UsageGroup, since: int, until: int, *, with_jobs: bool = False
) -> dict[Any, Sums]:
    """What was used from ``since`` to before ``until``, by day since 1970, key or conversation;
    None: the message of these charges is deleted."""
    result: dict[Any, Sums] = {}
    messages = (account_id, ids.at(ids.MESSAGE, since), ids.at(ids.MESSAGE, until))
    charges = (account_id, ids.at(ids.LEDGER, since), ids.at(ids.LEDGER, until))
    for value, count in tx.all(MESSAGES[group], messages):
        result.setdefault(value, Sums()).messages = int(count)
    if with_jobs:
        for value, count in tx.all(JOBS[group], messages):
            result.setdefault(value, Sums()).jobs = int(count)
    for value, amount, count in tx.all(CHARGES[group], charges):
        one = result.setdefault(value, Sums())
        one.millionths, one.charges = int(amount), int(count)
    return result


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
