"""Reading what was said in a conversation, and a message's attachments."""

from __future__ import annotations

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.messages.rows import FILES, JOBS, MESSAGES
from agentpost.record.records import AttachmentRecord, FileRecord, JobRecord, MessageRecord

_BEFORE = (
    f"{MESSAGES.select} WHERE conversation_id = ? AND turn_no < ? ORDER BY turn_no DESC LIMIT ?"
)
_SETTLED = (
    f"{JOBS.select} WHERE conversation_id = ? AND state IN ('completed', 'failed')"
    " AND settled_at <= ? ORDER BY settled_at DESC LIMIT ?"
)
_REPLY_FILES = (
    f"{FILES.select} WHERE message_id = ? AND job_id IS NULL AND replaced < 2"
    " ORDER BY created_at, path"
)
ATTACHMENTS = Mapper(AttachmentRecord, "attachments")
_ATTACHMENTS = f"{ATTACHMENTS.select} WHERE message_id = ? ORDER BY n"
_FETCHED = (
    "UPDATE attachments SET name = ?, content_type = ?, kind = ?, size = ?, revision = ?, blob = ?"
    " WHERE message_id = ? AND n = ?"
)


def messages_before(tx: Tx, conversation_id: str, turn_no: int, limit: int) -> list[MessageRecord]:
    """Messages whose turn came earlier, newest first."""
    return MESSAGES.all(tx, _BEFORE, (conversation_id, turn_no, limit))


def jobs_settled_before(tx: Tx, conversation_id: str, at: int, limit: int) -> list[JobRecord]:
    """Jobs that had ended by then, newest first."""
    return JOBS.all(tx, _SETTLED, (conversation_id, at, limit))


def reply_files(tx: Tx, message_id: str) -> list[FileRecord]:
    """Files a turn wrote."""
    return FILES.all(tx, _REPLY_FILES, (message_id,))


def attachments(tx: Tx, message_id: str) -> list[AttachmentRecord]:
    """What came with a message, in the order given."""
    return ATTACHMENTS.all(tx, _ATTACHMENTS, (message_id,))


def save_fetched(tx: Tx, a: AttachmentRecord) -> None:
    """The bytes of a URL are here."""
    params = (a.name, a.content_type, a.kind, a.size, a.revision, a.blob, a.message_id, a.n)
    tx.execute(_FETCHED, params)


def drop_attachment(tx: Tx, message_id: str, n: int) -> None:
    """It could not be taken: a note says why."""
    tx.execute("DELETE FROM attachments WHERE message_id = ? AND n = ?", (message_id, n))
