"""Files as a page shows them: what was asked for first, and what people sent like what was made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, cast

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.domain.file_names import FileKind
from agentpost.files.previews import Look, look_of
from agentpost.jobs import work_rows, works
from agentpost.messages import rows as message_rows
from agentpost.record import history_rows
from agentpost.record.records import AttachmentRecord, FileRecord
from agentpost.transactions import read_transaction

_OPEN_MAX: Final = 3
_WORD: Final = re.compile(r"[a-z0-9]+")
_NUMBER: Final = re.compile(r"[0-9]{1,4}")
_RANKS: Final = {
    Look.PICTURE: 1,
    Look.MARKDOWN: 2,
    Look.TABLE: 3,
    Look.JSON: 4,
    Look.TEXT: 4,
    Look.NONE: 5,
}
"""What is best looked at comes first; 0: pages, slides, films and all else that is to be opened."""
_FIRST_STAYS: Final = 2
"""Up to this rank, what was written first stays first."""


@dataclass(frozen=True, slots=True)
class FileArrangement:
    """``opened`` are shown with their previews; ``folded`` with a line that opens one."""

    opened: list[FileRecord]
    folded: list[FileRecord]

    @property
    def count(self) -> int:
        """All of them."""
        return len(self.opened) + len(self.folded)


def arrange(files: Sequence[FileRecord], request_text: str = "") -> FileArrangement:
    """The files that the request names first, then those that are best looked at.

    ``request_text`` is the text that led to them.

    A type that the text names comes first, such as "pdf". Then what the agent wrote first, unless
    that is mere text or data. Folded is what accompanies a file that is shown, such as the
    subtitles or the Word file of the same name, and whatever comes after three previews. The table
    of a chart is shown with it.
    """
    words = set(_WORD.findall(request_text.lower()))
    ranks = {file.blob: _RANKS.get(look_of(file), 0) for file in files}

    def place(at: int) -> tuple[bool, bool, int, int]:
        file = files[at]
        rank = ranks[file.blob]
        is_first = at == 0 and rank <= _FIRST_STAYS
        return PurePosixPath(file.name).suffix[1:].lower() not in words, not is_first, rank, at

    open_files: list[FileRecord] = []
    folded_files: list[FileRecord] = []
    for at in sorted(range(len(files)), key=place):
        file = files[at]
        goes_with = any(_goes_with(file, each) for each in open_files)
        is_text = ranks[file.blob] >= _RANKS[Look.TEXT]
        is_extra = bool(open_files) and (is_text or (goes_with and look_of(file) is not Look.TABLE))
        (folded_files if is_extra or len(open_files) == _OPEN_MAX else open_files).append(file)
    return FileArrangement(open_files, folded_files)


def _goes_with(file: FileRecord, other: FileRecord) -> bool:
    stem, main = PurePosixPath(file.name).stem, PurePosixPath(other.name).stem
    return stem == main or stem.startswith((f"{main}-", f"{main}_", f"{main}."))


# --- what people sent -----------------------------------------------------------------------------
def attachment_as_file(attachment: AttachmentRecord, account_id: str) -> FileRecord | None:
    """A file of a message in the shape of one that was made: its message stands for the work. None
    before it was fetched."""
    if attachment.blob is None:
        return None
    return FileRecord(
        work_id=attachment.message_id,
        path=str(attachment.n),
        account_id=account_id,
        name=attachment.name,
        content_type=attachment.content_type or "application/octet-stream",
        kind=cast("FileKind", attachment.kind),
        size=attachment.size,
        revision=attachment.revision,
        blob=attachment.blob,
        message_id=attachment.message_id,
    )


@read_transaction
def find(tx: Tx, ctx: AppContext, account_id: str | None, file_id: str) -> FileRecord:
    """A file that was made or sent in the account, by its id; None: in any account, for the holder
    of a signed link. Raises ``not_found``."""
    if not file_id.startswith(ids.MESSAGE):
        return works.find_file(tx, account_id, file_id)
    message_id, _, number = file_id.partition("/")
    is_named = ids.is_id(ids.MESSAGE, message_id) and _NUMBER.fullmatch(number)
    message = message_rows.get(tx, message_id) if is_named else None
    if message is None or account_id not in (None, message.account_id):
        raise not_found("file")
    is_kept = message.expires_at > ctx.clock.now()
    if is_kept and account_rows.get(tx, message.account_id).deleted_at is None:
        for attachment in history_rows.attachments(tx, message_id):
            file = attachment_as_file(attachment, message.account_id)
            if file is not None and attachment.n == int(number):
                return file
    raise not_found("file")


# --- all of them at once --------------------------------------------------------------------------
@read_transaction
def of_work(
    tx: Tx, _: AppContext, account_id: str, work_id: str, job_id: str
) -> tuple[str, list[FileRecord]]:
    """The title of a work of the account and the files that one of its jobs wrote, for "" those of
    all; raises ``not_found``, also when there are none."""
    work = works.find(tx, account_id, work_id)
    files = [file for file in work_rows.files(tx, work_id) if job_id in ("", file.job_id)]
    if not files:
        raise not_found("file")
    return work.title, files
