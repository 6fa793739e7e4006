"""How many bytes of files each account has stored.

Files of works count, replaced ones too until they are deleted, files that came with messages, and
uploads that are ready. An upload that a message takes becomes a file of that message, so the number
stays. Whoever inserts or deletes such a row changes the number in the same transaction, and last:
the number is locked until the commit, so nothing else may be waited for meanwhile. It has a table
of its own because credits and slots lock the account's row.
"""

from collections.abc import Iterable
from typing import Final

from agentpost.db.session import Tx, scalar

NO_LIMIT: Final = 2**62

_ADD = (
    "INSERT INTO account_storage (account_id, bytes) VALUES (?, ?) ON CONFLICT (account_id)"
    " DO UPDATE SET bytes = account_storage.bytes + excluded.bytes"
    " WHERE account_storage.bytes + excluded.bytes <= ?"
)
_SUBTRACT = "UPDATE account_storage SET bytes = bytes - ? WHERE account_id = ?"
_USED = "SELECT bytes FROM account_storage WHERE account_id = ?"

_KEPT = (
    "(SELECT COALESCE(SUM(size), 0) FROM uploads WHERE account_id = ? AND status = 'ready')"
    " + (SELECT COALESCE(SUM(size), 0) FROM files"
    " WHERE work_id IN (SELECT id FROM works WHERE account_id = ?))"
    " + (SELECT COALESCE(SUM(size), 0) FROM attachments WHERE blob IS NOT NULL"
    " AND message_id IN (SELECT id FROM messages WHERE account_id = ?))"
)
_COMPARE = f"SELECT COALESCE(({_USED}), 0), {_KEPT}"
_HAS_MORE = "SELECT " + " OR ".join(
    f"EXISTS (SELECT 1 FROM {table} WHERE account_id = ? LIMIT 1 OFFSET ?)"
    for table in ("uploads", "works", "messages")
)
_LOCK = (
    "INSERT INTO account_storage (account_id, bytes) VALUES (?, 0) ON CONFLICT (account_id)"
    " DO UPDATE SET bytes = account_storage.bytes"
)
_RECOUNT = f"UPDATE account_storage SET bytes = {_KEPT} WHERE account_id = ?"


def add(tx: Tx, account_id: str, size: int, most: int) -> bool:
    """Count ``size`` bytes more; False, and nothing is counted, when that would be over ``most``.
    Exact under concurrency: who adds at the same time waits for this commit."""
    if size == 0:
        return True
    return size <= most and tx.execute(_ADD, (account_id, size, most)) == 1


def subtract(tx: Tx, deleted: Iterable[tuple[str, int]]) -> None:
    """Count less: (account, size in bytes) of rows that this transaction deleted."""
    sizes: dict[str, int] = {}
    for account_id, size in deleted:
        sizes[account_id] = sizes.get(account_id, 0) + size
    for account_id in sorted(sizes):
        if sizes[account_id]:
            tx.execute(_SUBTRACT, (sizes[account_id], account_id))


def used(tx: Tx, account_id: str) -> int:
    """The bytes that the account has stored."""
    row = tx.one(_USED, (account_id,))
    return int(row[0]) if row else 0


def recount(tx: Tx, account_id: str) -> None:
    """Set the number anew from the account's rows; reads all of them.

    Exact beside writers: the number is locked before the rows are read, and whoever has changed one
    of them without being seen here changes the number after this commit.
    """
    tx.execute(_LOCK, (account_id,))
    tx.execute(_RECOUNT, (account_id,) * 4)


def different(
    tx: Tx, account_ids: Iterable[str], rows_max: int | None = None
) -> list[tuple[str, int, int]]:
    """(account, bytes counted, bytes of its rows) where these differ. An account with more than
    ``rows_max`` uploads, works or messages is left out, and its rows are not read."""
    miscounts = []
    for account_id in account_ids:
        if rows_max is not None and scalar(tx, _HAS_MORE, (account_id, rows_max) * 3):
            continue
        [(counted, kept)] = tx.all(_COMPARE, (account_id,) * 4)
        if counted != kept:
            miscounts.append((account_id, int(counted), int(kept)))
    return miscounts
