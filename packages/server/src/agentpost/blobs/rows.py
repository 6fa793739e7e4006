"""Which bytes the record names: files of works, what came with messages, and uploads.

Pages go by primary keys. Only that the order is the same in one database matters for them, not
which order it is; the newest keys are found because they are hex digits behind one prefix.
"""

import re
from dataclasses import dataclass

from agentpost.db.session import Tx
from agentpost.db.statements import Firsts
from agentpost.domain import ids
from agentpost.uploads.rules import UploadStatus

_FILE_COLUMNS = "blob, work_id, path, size, revision"
_ATTACHMENT_COLUMNS = "blob, message_id, n, size, revision"
_NEWEST_FILES = f"SELECT {_FILE_COLUMNS} FROM files WHERE ? >= blob ORDER BY blob DESC LIMIT ?"
_NEWEST_ATTACHMENTS = (
    f"SELECT {_ATTACHMENT_COLUMNS} FROM attachments WHERE message_id <= ? AND blob IS NOT NULL"
    " ORDER BY message_id DESC, n DESC LIMIT ?"
)
_FILES_PAGE = f"SELECT {_FILE_COLUMNS} FROM files WHERE ? < blob ORDER BY blob LIMIT ?"
_ATTACHMENTS_PAGE = (
    f"SELECT {_ATTACHMENT_COLUMNS} FROM attachments"
    " WHERE (message_id, n) > (?, ?) AND blob IS NOT NULL ORDER BY message_id, n LIMIT ?"
)
_UPLOADS_PAGE = "SELECT id, copies, status, blob FROM uploads WHERE id > ? ORDER BY id LIMIT ?"
_READY_PAGE = (
    "SELECT blob, id, size FROM uploads WHERE id > ? AND status = 'ready' ORDER BY id LIMIT ?"
)
_FILE = "SELECT 1 FROM files WHERE blob = ?"
_ATTACHMENT = "SELECT 1 FROM attachments WHERE message_id = ? AND n = ? AND blob = ?"
_UPLOAD = "SELECT 1 FROM uploads WHERE id = ? AND blob = ? AND status = 'ready'"
_FILES_PREFIX = "files/"
_UPLOADS_PREFIX = "uploads/"
_DIGEST = re.compile('"[0-9a-f]{32}"')


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that a row names: of the file ``path`` of the work ``owner``, or, without a path, of
    the ``n``-th attachment of the message ``owner``, or else of the upload ``owner``. ``size`` in
    bytes; ``revision``: the entity tag that the row keeps."""

    blob: str
    owner: str
    path: str
    n: int
    size: int
    revision: str
    of_message: bool = True

    def fits(self, sha256: str) -> bool:
        """Whether bytes with that SHA-256 (hex) may be those the row was made for. The revision of
        an upload does not come from its bytes, so any fit."""
        comes_from_bytes = not self.blob.startswith(_UPLOADS_PREFIX)
        if not (comes_from_bytes and _DIGEST.fullmatch(self.revision)):
            return True
        return self.revision == f'"{sha256[:32]}"'

    @property
    def what(self) -> str:
        """The file's public id, the message's or the upload's."""
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


def ready_uploads_page(tx: Tx, after: str, limit: int) -> list[Named]:
    """Bytes of uploads that no message has used yet, of those behind that id."""
    rows = tx.all(_READY_PAGE, (after, limit))
    return [Named(row[0], row[1], "", 0, row[2], "", False) for row in rows]


# Keys of bytes that are to go, behind that one.
pending_deletions_page = Firsts[str, int](
    "SELECT blob FROM pending_deletions WHERE ? < blob ORDER BY blob LIMIT ?"
)


def still_names(tx: Tx, blob: Named) -> bool:
    """Whether that row is still there."""
    if blob.path:
        return tx.one(_FILE, (blob.blob,)) is not None
    if not blob.of_message:
        return tx.one(_UPLOAD, (blob.owner, blob.blob)) is not None
    return tx.one(_ATTACHMENT, (blob.owner, blob.n, blob.blob)) is not None


def _file(row: tuple[str, str, str, int, str]) -> Named:
    blob, work_id, path, size, revision = row
    return Named(blob, work_id, path, 0, size, revision)


def _attachment(row: tuple[str, str, int, int, str]) -> Named:
    blob, message_id, n, size, revision = row
    return Named(blob, message_id, "", n, size, revision)
