"""Find and delete what is of one account, a bounded number of rows at a time.

Messages, works and uploads go by what deletes them anyway (`account_data.deletion`); here is
the rest. Every statement finds its rows by an index.
"""

from typing import Final

from agentpost.accounts.rows import ACCOUNTS
from agentpost.db.session import Tx
from agentpost.db.statements import All, Firsts, Rows
from agentpost.record.records import AccountRecord, UploadRecord
from agentpost.retention import rows as retention_rows
from agentpost.uploads.rows import UPLOADS

_MARK = (
    "UPDATE accounts SET deleted_at = COALESCE(deleted_at, ?),"
    " disabled_at = COALESCE(disabled_at, ?) WHERE id = ?"
)
_REVOKE = "UPDATE keys SET revoked_at = ? WHERE account_id = ? AND revoked_at IS NULL"
_JOBS = "SELECT id FROM jobs WHERE work_id = ? ORDER BY id LIMIT ?"
_EVENTS_OF_ENDPOINT = "SELECT event_id FROM deliveries WHERE endpoint_id = ? LIMIT ?"
_LOOSE_EVENTS = "SELECT id FROM events WHERE message_id IS NULL AND account_id = ? LIMIT ?"
_OWNERS = "SELECT id FROM keys WHERE account_id = ?"


def _some(table: str, where: str = "account_id = ?", key: str = "id") -> str:
    """Deletes rows of an account, at most so many."""
    return f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {where} LIMIT ?)"


_OF_ACCOUNT: Final = (
    _some("requests"),
    _some("ledger"),
    _some("mails"),
    _some("schedules"),
    _some("event_numbers", key="event_id"),
    _some("sessions", key="digest"),
    _some("login_tokens", key="digest"),
)
_CONVERSATIONS = _some("conversations", "owner = ?")
_LAST: Final = (
    "DELETE FROM user_mails WHERE email IN (SELECT email FROM users WHERE account_id = ?)",
    "DELETE FROM event_readers WHERE account_id = ?",
    "DELETE FROM account_storage WHERE account_id = ?",
    "DELETE FROM endpoints WHERE account_id = ?",
    "DELETE FROM users WHERE account_id = ?",
    "DELETE FROM keys WHERE account_id = ?",
    "DELETE FROM accounts WHERE id = ? AND deleted_at IS NOT NULL",
)
_COUNTS: Final = {
    "messages": "SELECT COUNT(*) FROM messages WHERE account_id = ?",
    "works": "SELECT COUNT(*) FROM works WHERE account_id = ?",
    "stored_bytes": "SELECT COALESCE(SUM(bytes), 0) FROM account_storage WHERE account_id = ?",
    "uploads": "SELECT COUNT(*) FROM uploads WHERE account_id = ?",
    "users": "SELECT COUNT(*) FROM users WHERE account_id = ?",
    "keys": "SELECT COUNT(*) FROM keys WHERE account_id = ?",
    "webhook_endpoints": "SELECT COUNT(*) FROM endpoints WHERE account_id = ?",
    "schedules": "SELECT COUNT(*) FROM schedules WHERE account_id = ?",
    "requests": "SELECT COUNT(*) FROM requests WHERE account_id = ?",
}


def counts(tx: Tx, account_id: str) -> dict[str, int]:
    """How much there is of what people know."""
    rows = {name: tx.one(sql, (account_id,)) for name, sql in _COUNTS.items()}
    return {name: int(row[0]) for name, row in rows.items() if row is not None}


# Accounts that are being deleted.
list_deleting = All[AccountRecord, int](
    ACCOUNTS, "WHERE deleted_at IS NOT NULL ORDER BY id LIMIT ?"
)


def mark(tx: Tx, account_id: str, now: int) -> None:
    """Refuse everything of the account from now on; the caller holds its lock."""
    tx.execute(_MARK, (now, now, account_id))
    tx.execute(_REVOKE, (now, account_id))


# Some of its messages, the newest first.
messages = Firsts[str, int]("SELECT id FROM messages WHERE account_id = ? ORDER BY id DESC LIMIT ?")


# (id, since when its files may go) of some of its works.
works = Rows[tuple[str, int | None], str, int](
    "SELECT id, deleted_at FROM works WHERE account_id = ? ORDER BY id LIMIT ?"
)
# Some of its uploads.
uploads = All[UploadRecord, str, int](UPLOADS, "WHERE account_id = ? LIMIT ?")


def delete_jobs(tx: Tx, work_id: str, limit: int) -> int:
    """Jobs of a work that no message lists any more; how many rows went: ``limit`` if there may be
    more."""
    count = 0
    for (job_id,) in tx.all(_JOBS, (work_id, limit)):
        count += retention_rows.delete_job_parts(tx, job_id, limit - count)
        if count >= limit:
            return limit
        tx.execute("DELETE FROM message_jobs WHERE job_id = ?", (job_id,))
        retention_rows.delete_job(tx, job_id)
        count += 1
    return min(count, limit)


def delete_events(tx: Tx, account_id: str, endpoint_ids: list[str], limit: int) -> int:
    """Events of no message with their deliveries and attempts; as `delete_jobs`."""
    count = retention_rows.delete_events(tx, _LOOSE_EVENTS, account_id, limit)
    for endpoint_id in endpoint_ids:
        if count < limit:
            count += retention_rows.delete_events(
                tx, _EVENTS_OF_ENDPOINT, endpoint_id, limit - count
            )
    return min(count, limit)


def delete_rest(tx: Tx, account_id: str, limit: int) -> int:
    """Everything that is neither of a message nor of a work; as `delete_jobs`."""
    count = 0
    for sql in _OF_ACCOUNT:
        if count < limit:
            count += tx.execute(sql, (account_id, limit - count))
    owners = [account_id, *(row[0] for row in tx.all(_OWNERS, (account_id,)))]
    for owner in owners:
        if count < limit:
            count += tx.execute(_CONVERSATIONS, (owner, limit - count))
    return count


def delete_account(tx: Tx, account_id: str) -> None:
    """The account with its keys and users, when nothing else of it is left."""
    for sql in _LAST:
        tx.execute(sql, (account_id,))
