"""Reading what was said in a conversation, and a message's attachments."""

from __future__ import annotations

from agentpost.db import columns
from agentpost.db.messages import job_of, message_of
from agentpost.db.session import Tx
from agentpost.domain.record import AttachmentRecord, FileRecord, JobRecord, MessageRecord

_BEFORE = (
    columns.select(MessageRecord, "messages")
    + " WHERE conversation_id = ? AND turn_no < ? ORDER BY turn_no DESC LIMIT ?"
)
_SETTLED = (
    columns.select(JobRecord, "jobs")
    + " WHERE conversation_id = ? AND state IN ('completed', 'failed') AND settled_at <= ?"
    + " ORDER BY settled_at DESC LIMIT ?"
)
_REPLY_FILES = (
    columns.select(FileRecord, "files")
    + " WHERE message_id = ? AND job_id IS NULL AND replaced < 2 ORDER BY created_at, path"
)
_ATTACHMENTS = columns.select(AttachmentRecord, "attachments") + " WHERE message_id = ? ORDER BY n"
_INSERT_ATTACHMENT = columns.insert(AttachmentRecord, "attachments")
_ATTACHMENT = columns.getter(AttachmentRecord)
_FETCHED = (
    "UPDATE attachments SET name = ?, content_type = ?, kind = ?, size = ?, revision = ?, blob = ?"
    " WHERE message_id = ? AND n = ?"
)


def messages_before(tx: Tx, conversation_id: str, turn_no: int, limit: int) -> list[MessageRecord]:
    """Messages whose turn came earlier, newest first."""
    rows = tx.all(_BEFORE, (conversation_id, turn_no, limit))
    return [message_of(row) for row in rows]


def jobs_settled_before(tx: Tx, conversation_id: str, at: int, limit: int) -> list[JobRecord]:
    """Jobs that had ended by then, newest first."""
    return [job_of(row) for row in tx.all(_SETTLED, (conversation_id, at, limit))]


def reply_files(tx: Tx, message_id: str) -> list[FileRecord]:
    """Files a turn wrote."""
    return [FileRecord(*row) for row in tx.all(_REPLY_FILES, (message_id,))]


def attachments(tx: Tx, message_id: str) -> list[AttachmentRecord]:
    """What came with a message, in the order given."""
    return [AttachmentRecord(*row) for row in tx.all(_ATTACHMENTS, (message_id,))]


def insert_attachment(tx: Tx, attachment: AttachmentRecord) -> None:
    """An attachment is kept before anything is fetched."""
    tx.execute(_INSERT_ATTACHMENT, _ATTACHMENT(attachment))


def save_fetched(tx: Tx, a: AttachmentRecord) -> None:
    """The bytes of a URL are here."""
    params = (a.name, a.content_type, a.kind, a.size, a.revision, a.blob, a.message_id, a.n)
    tx.execute(_FETCHED, params)


def drop_attachment(tx: Tx, message_id: str, n: int) -> None:
    """It could not be taken: a note says why."""
    tx.execute("DELETE FROM attachments WHERE message_id = ? AND n = ?", (message_id, n))
