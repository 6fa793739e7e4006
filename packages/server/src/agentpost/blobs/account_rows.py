"""How many bytes of files each account has stored.

Files of works count, replaced ones too until they are deleted, files that came with messages, and
uploads that are ready. An upload that a message takes becomes a file of that message, so the number
stays. Whoever inserts or deletes such a row changes the number in the same transaction, and last:
the number is locked until the commit, so nothing else may be waited for meanwhile. It has a table
of its own because credits and slots lock the account's row.
"""

from collections.abc import Iterable
from typing import Final

from agentpost.db.session import Tx

NO_LIMIT: Final = 2**62

_ADD = (
    "INSERT INTO account_storage (account_id, bytes) VALUES (?, ?) ON CONFLICT (account_id)"
    " DO UPDATE SET bytes = account_storage.bytes + excluded.bytes"
    " WHERE account_storage.bytes + excluded.bytes <= ?"
)
_SUBTRACT = "UPDATE account_storage SET bytes = bytes - ? WHERE account_id = ?"
_USED = "SELECT bytes FROM account_storage WHERE account_id = ?"

_DIFFERENT = (
    "SELECT x.account_id, SUM(x.counted), SUM(x.kept) FROM ("
    "SELECT account_id, 0 AS counted, size AS kept FROM files"
    " UNION ALL SELECT account_id, 0, size FROM uploads WHERE status = 'ready'"
    " UNION ALL SELECT m.account_id, 0, a.size FROM attachments a"
    " JOIN messages m ON m.id = a.message_id WHERE a.blob IS NOT NULL"
    " UNION ALL SELECT account_id, bytes, 0 FROM account_storage"
    ") x GROUP BY x.account_id HAVING SUM(x.counted) <> SUM(x.kept)"
)
_LOCK = (
    "INSERT INTO account_storage (account_id, bytes) VALUES (?, 0) ON CONFLICT (account_id)"
    " DO UPDATE SET bytes = account_storage.bytes"
)
_RECOUNT = (
    "UPDATE account_storage SET bytes ="
    " (SELECT COALESCE(SUM(size), 0) FROM uploads WHERE account_id = ? AND status = 'ready')"
    " + (SELECT COALESCE(SUM(size), 0) FROM files"
    " WHERE work_id IN (SELECT id FROM works WHERE account_id = ?))"
    " + (SELECT COALESCE(SUM(size), 0) FROM attachments WHERE blob IS NOT NULL"
    " AND message_id IN (SELECT id FROM messages WHERE account_id = ?))"
    " WHERE account_id = ?"
)
_OF_ACCOUNT = (
    (
        "SELECT CASE WHEN status = 'ready' THEN size ELSE 0 END FROM uploads"
        " WHERE account_id = ? LIMIT ?"
    ),
    (
        "SELECT (SELECT COALESCE(SUM(size), 0) FROM files WHERE work_id = works.id)"
        " FROM works WHERE account_id = ? ORDER BY id LIMIT ?"
    ),
    (
        "SELECT (SELECT COALESCE(SUM(size), 0) FROM attachments"
        " WHERE message_id = messages.id AND blob IS NOT NULL)"
        " FROM messages WHERE account_id = ? ORDER BY id LIMIT ?"
    ),
)


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


def different(tx: Tx) -> list[tuple[str, int, int]]:
    """(account, bytes counted, bytes of its rows) where these differ. Reads all rows."""
    return [(row[0], int(row[1]), int(row[2])) for row in tx.all(_DIFFERENT)]


def sum_rows(tx: Tx, account_id: str, most: int) -> int | None:
    """The bytes of an account's rows; None when it has more than ``most`` uploads, works or
    messages: they are not read then."""
    total = 0
    for sql in _OF_ACCOUNT:
        sizes = tx.all(sql, (account_id, most + 1))
        if len(sizes) > most:
            return None
        total += sum(int(size) for (size,) in sizes)
    return total
