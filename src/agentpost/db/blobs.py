"""Which bytes the record names: files of works, what came with messages, and uploads.

Pages go by primary keys. Only that the order is the same in one database matters for them, not
which order it is; the newest keys are found because they are hex digits behind one prefix.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.uploads import UploadStatus

_NEWEST_FILES = "SELECT blob, work_id, path FROM files WHERE ? >= blob ORDER BY blob DESC LIMIT ?"
_NEWEST_ATTACHMENTS = (
    "SELECT blob, message_id, n FROM attachments WHERE message_id <= ? AND blob IS NOT NULL"
    " ORDER BY message_id DESC, n DESC LIMIT ?"
)
_FILES_PAGE = "SELECT blob, work_id, path FROM files WHERE ? < blob ORDER BY blob LIMIT ?"
_ATTACHMENTS_PAGE = (
    "SELECT blob, message_id, n FROM attachments"
    " WHERE (message_id, n) > (?, ?) AND blob IS NOT NULL ORDER BY message_id, n LIMIT ?"
)
_UPLOADS_PAGE = "SELECT id, copies, status, blob FROM uploads WHERE id > ? ORDER BY id LIMIT ?"
_PENDING_PAGE = "SELECT blob FROM pending_deletions WHERE ? < blob ORDER BY blob LIMIT ?"
_FILE = "SELECT 1 FROM files WHERE blob = ?"
_ATTACHMENT = "SELECT 1 FROM attachments WHERE message_id = ? AND n = ? AND blob = ?"
_FILES_PREFIX = "files/"


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that a row names: of the file ``path`` of the work ``owner``, or, without a path, of
    the ``n``-th attachment of the message ``owner``."""

    blob: str
    owner: str
    path: str
    n: int

    @property
    def what(self) -> str:
        """The file's public id, or the message's."""
        return f"{self.owner}/{self.path}" if self.path else self.owner


def newest(tx: Tx, limit: int) -> list[Named]:
    """What was recorded last: up to ``limit`` files, and as many attachments."""
    files = tx.all(_NEWEST_FILES, (ids.last(_FILES_PREFIX), limit))
    attachments = tx.all(_NEWEST_ATTACHMENTS, (ids.last(ids.MESSAGE), limit))
    return [*map(_file, files), *map(_attachment, attachments)]


def files_page(tx: Tx, after: str, limit: int) -> list[Named]:
    """Files whose keys come behind that one."""
    return [_file(row) for row in tx.all(_FILES_PAGE, (after, limit))]


def attachments_page(tx: Tx, after: tuple[str, int], limit: int) -> list[Named]:
    """Attachments with bytes, behind that one of (message id, number)."""
    return [_attachment(row) for row in tx.all(_ATTACHMENTS_PAGE, (*after, limit))]


def uploads_page(tx: Tx, after: str, limit: int) -> list[tuple[str, int, bool, str]]:
    """(id, how many private copies were made, whether its bytes are ready, their key)."""
    rows = tx.all(_UPLOADS_PAGE, (after, limit))
    return [(row[0], row[1], row[2] == UploadStatus.READY.value, row[3]) for row in rows]


def pending_deletions_page(tx: Tx, after: str, limit: int) -> list[str]:
    """Keys of bytes that are to go, behind that one."""
    return [row[0] for row in tx.all(_PENDING_PAGE, (after, limit))]


def still_names(tx: Tx, named: Named) -> bool:
    """Whether that row is still there."""
    if named.path:
        return tx.one(_FILE, (named.blob,)) is not None
    return tx.one(_ATTACHMENT, (named.owner, named.n, named.blob)) is not None


def _file(row: tuple[str, str, str]) -> Named:
    return Named(row[0], row[1], row[2], 0)


def _attachment(row: tuple[str, str, int]) -> Named:
    return Named(row[0], row[1], "", row[2])
