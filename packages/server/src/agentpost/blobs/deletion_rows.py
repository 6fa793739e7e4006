"""Blobs that will be deleted unless a commit keeps them.

A deletion is scheduled before the first byte is stored. The commit that names the blob in a row
keeps it; the commit that removes that row schedules the deletion again. So after any crash all
bytes without a row are in this table, and the sweep need not search elsewhere. Only the bytes of an
upload are found by the upload's row (`copies`), until their deletion is scheduled with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.db.session import Tx

_SCHEDULE = (
    "INSERT INTO pending_deletions (blob, due_at, tries) VALUES (?, ?, 0)"
    " ON CONFLICT (blob) DO UPDATE SET due_at = excluded.due_at"
)
_KEEP = "DELETE FROM pending_deletions WHERE blob = ? AND tries = 0"
_COUNT_DUE = "SELECT COUNT(*) FROM pending_deletions WHERE due_at <= ?"
_ANY_DUE = "SELECT 1 FROM pending_deletions WHERE due_at <= ? LIMIT 1"
_DUE = (
    "SELECT blob, tries FROM pending_deletions WHERE due_at <= ?"
    " ORDER BY due_at LIMIT ? /*skip locked*/"
)
_TRY = "UPDATE pending_deletions SET tries = ?, due_at = ? WHERE blob = ?"
_GONE = "DELETE FROM pending_deletions WHERE blob = ?"


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


def any_due(tx: Tx, now: int) -> bool:
    """Whether there is something to delete."""
    return tx.one(_ANY_DUE, (now,)) is not None


def count_due(tx: Tx, now: int) -> int:
    """How many are due."""
    row = tx.one(_COUNT_DUE, (now,))
    return int(row[0]) if row else 0


def due(tx: Tx, now: int, limit: int) -> list[tuple[str, int]]:
    """(blob, how often its deletion was tried), those due for longest first, locked."""
    return [(row[0], row[1]) for row in tx.all(_DUE, (now, limit))]


def claim(tx: Tx, blob: str, tries: int, again_at: int) -> None:
    """It is being deleted for the ``tries``-th time; should that fail, it is due again then.

    From here on it cannot be kept.
    """
    tx.execute(_TRY, (tries, again_at, blob))


def forget(tx: Tx, blob: str) -> None:
    """Its bytes are gone."""
    tx.execute(_GONE, (blob,))
