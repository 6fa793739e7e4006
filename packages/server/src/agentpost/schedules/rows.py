"""Schedules. The actions decide; nothing here checks a rule."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, Change, First, Firsts, Number, Save
from agentpost.schedules.rules import ScheduleRecord, ScheduleStatus

SCHEDULES = Mapper(ScheduleRecord, "schedules")
_CLEAR = (
    "DELETE FROM schedules WHERE account_id = ?"
    " AND (status = ? AND COALESCE(last_at, created_at) <= ? OR key_id IN"
    " (SELECT id FROM keys WHERE account_id = ? AND (revoked_at IS NOT NULL OR expires_at <= ?)))"
)


# By id.
get = First[ScheduleRecord, str](SCHEDULES, "WHERE id = ?")
# `get`, held until the commit.
lock = First[ScheduleRecord, str](SCHEDULES, "WHERE id = ? /*for update*/")
# The key's schedules with ids less than ``before``, newest first.
list_ = All[ScheduleRecord, str, str, int](
    SCHEDULES, "WHERE key_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
)
# The account's schedules with ids less than ``before``, newest first.
of_account = All[ScheduleRecord, str, str, int](
    SCHEDULES, "WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
)
# How many of the account have not ended.
count = Number[str](
    f"SELECT COUNT(*) FROM schedules WHERE account_id = ? AND status <> '{ScheduleStatus.ENDED}'"
)


def clear(tx: Tx, account_id: str, now: int, ended_before: int) -> None:
    """Delete those of the account that ended by that time, and those of keys that have ended."""
    tx.execute(_CLEAR, (account_id, ScheduleStatus.ENDED, ended_before, account_id, now))


# Those whose time has come, the latest one last.
due = Firsts[int, int](
    "SELECT id FROM schedules WHERE next_at IS NOT NULL AND next_at <= ?"
    f" AND status = '{ScheduleStatus.ACTIVE}' ORDER BY next_at LIMIT ?"
)
# Write what may change; the caller holds the lock.
update = Save(SCHEDULES, *SCHEDULES.columns[SCHEDULES.columns.index("status") :])
# It is gone; the messages it sent stay.
delete = Change[str]("DELETE FROM schedules WHERE id = ?")
