"""Which bytes the record names: files of works, what came with messages, and uploads.

Pages go by primary keys. Only that the order is the same in one database matters for them, not
which order it is; the newest keys are found because they are hex digits behind one prefix.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agentpost.db.session import Tx
from agentpost.db.statements import Firsts, Rows
from agentpost.domain import ids

_FILES = "blob, work_id, path, 0, size, revision FROM files"
_ATTACHMENTS = "blob, message_id, '', n, size, revision FROM attachments"
_NEWEST_FILES = f"SELECT {_FILES} WHERE ? >= blob ORDER BY blob DESC LIMIT ?"
_NEWEST_ATTACHMENTS = (
    f"SELECT {_ATTACHMENTS} WHERE message_id <= ? AND blob IS NOT NULL"
    " ORDER BY message_id DESC, n DESC LIMIT ?"
)
_FILES_PAGE = f"SELECT {_FILES} WHERE ? < blob ORDER BY blob LIMIT ?"
_READY_PAGE = (
    "SELECT blob, id, '', 0, size, '' FROM uploads"
    " WHERE id > ? AND status = 'ready' ORDER BY id LIMIT ?"
)
_ATTACHMENTS_PAGE = (
    f"SELECT {_ATTACHMENTS} WHERE (message_id, n) > (?, ?) AND blob IS NOT NULL"
    " ORDER BY message_id, n LIMIT ?"
)
_FILE = "SELECT 1 FROM files WHERE blob = ?"
_ATTACHMENT = "SELECT 1 FROM attachments WHERE message_id = ? AND n = ? AND blob = ?"
_UPLOAD = "SELECT 1 FROM uploads WHERE id = ? AND blob = ? AND status = 'ready'"
_FILES_PREFIX = "files/"
_UPLOADS_PREFIX = "uploads/"
_DIGEST = re.compile('"[0-9a-f]{32}"')

Cursor: TypeAlias = tuple[int, tuple[Any, ...]]
"""A table, and the key in it behind which a page begins."""


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that a row names: of the file ``path`` of the work ``owner``, or, without a path, of
    the ``n``-th attachment of the message ``owner`` or of the upload ``owner``. ``size`` in bytes;
    ``revision``: the entity tag that the row keeps, "" of an upload."""

    blob: str
    owner: str
    path: str
    n: int
    size: int
    revision: str

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


# An upload may become an attachment between two pages; then it is in both.
_PAGES: Final[tuple[tuple[str, Callable[[Named], tuple[Any, ...]]], ...]] = (
    (_FILES_PAGE, lambda named: (named.blob,)),
    (_READY_PAGE, lambda named: (named.owner,)),
    (_ATTACHMENTS_PAGE, lambda named: (named.owner, named.n)),
)
_BEGINNINGS: Final = (("",), ("",), ("", 0))
START: Final[Cursor] = (0, _BEGINNINGS[0])


def newest(tx: Tx, limit: int) -> list[Named]:
    """What was recorded last: up to ``limit`` files, and as many attachments."""
    files = tx.all(_NEWEST_FILES, (ids.last(_FILES_PREFIX), limit))
    attachments = tx.all(_NEWEST_ATTACHMENTS, (ids.last(ids.MESSAGE), limit))
    return [Named(*row) for row in (*files, *attachments)]


def page(tx: Tx, cursor: Cursor, limit: int) -> tuple[list[Named], Cursor | None]:
    """Bytes behind that place: of files, of uploads that no message has used yet, of attachments.
    And where to go on; None at the end."""
    at, after = cursor
    sql, key_of = _PAGES[at]
    names = [Named(*row) for row in tx.all(sql, (*after, limit))]
    if names:
        return names, (at, key_of(names[-1]))
    return [], (at + 1, _BEGINNINGS[at + 1]) if at + 1 < len(_PAGES) else None


# Uploads behind that id: how many private copies of each were made.
uploads_page = Rows[tuple[str, int], str, int](
    "SELECT id, copies FROM uploads WHERE id > ? ORDER BY id LIMIT ?"
)
# Keys of bytes that are to go, behind that one.
pending_deletions_page = Firsts[str, int](
    "SELECT blob FROM pending_deletions WHERE ? < blob ORDER BY blob LIMIT ?"
)


def still_names(tx: Tx, blob: Named) -> bool:
    """Whether that row is still there."""
    if blob.path:
        return tx.one(_FILE, (blob.blob,)) is not None
    return (
        tx.one(_ATTACHMENT, (blob.owner, blob.n, blob.blob)) is not None
        or tx.one(_UPLOAD, (blob.owner, blob.blob)) is not None
    )
