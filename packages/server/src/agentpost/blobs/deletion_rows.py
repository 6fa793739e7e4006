"""Blobs that will be deleted unless a commit keeps them.

A deletion is scheduled before the first byte is stored. The commit that names the blob in a row
keeps it; the commit that removes that row schedules the deletion again. So after any crash all
bytes without a row are in this table, and the sweep need not search elsewhere. Only the bytes of an
upload are found by the upload's row (`copies`), until their deletion is scheduled with it.
"""

from collections.abc import Sequence

from agentpost.db.session import Tx
from agentpost.db.statements import Change, ChangeOf, Number, Rows, Whether

_SCHEDULE = (
    "INSERT INTO pending_deletions (blob, due_at, tries) VALUES (?, ?, 0)"
    " ON CONFLICT (blob) DO UPDATE SET due_at = excluded.due_at"
)
_KEEP = "DELETE FROM pending_deletions WHERE blob = ? AND tries = 0"


class BlobLost(Exception):
    """A blob is recorded too late: the sweep has begun to delete it."""


def schedule_delete(tx: Tx, blobs: Sequence[str], due_at: int) -> None:
    """Their bytes are to go at that time."""
    for blob in blobs:
        tx.execute(_SCHEDULE, (blob, due_at))


def keep(tx: Tx, blob: str) -> None:
    """This commit records the blob: it stays. Raises `BlobLost`."""
    if tx.execute(_KEEP, (blob,)) == 0:
        raise BlobLost(f"{blob} was stored too long ago to be recorded")


# Whether there is something to delete.
any_due = Whether[int]("SELECT 1 FROM pending_deletions WHERE due_at <= ? LIMIT 1")
# How many are due.
count_due = Number[int]("SELECT COUNT(*) FROM pending_deletions WHERE due_at <= ?")
# (blob, how often its deletion was tried), those due for longest first, locked.
due = Rows[tuple[str, int], int, int](
    "SELECT blob, tries FROM pending_deletions WHERE due_at <= ?"
    " ORDER BY due_at LIMIT ? /*skip locked*/"
)
# It is being deleted for the ``tries``-th time; should that fail, it is due again then. From here
# on it cannot be kept.
claim = ChangeOf[str, int, int]("UPDATE pending_deletions SET tries = ?, due_at = ? WHERE blob = ?")
# Its bytes are gone.
forget = Change[str]("DELETE FROM pending_deletions WHERE blob = ?")
