"""Reading what was said in a conversation, and a message's attachments."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, Change
from agentpost.messages.rows import FILES, JOBS, MESSAGES
from agentpost.record.records import AttachmentRecord, FileRecord, JobRecord, MessageRecord

ATTACHMENTS = Mapper(AttachmentRecord, "attachments")
_FETCHED = (
    "UPDATE attachments SET name = ?, content_type = ?, kind = ?, size = ?, revision = ?, blob = ?"
    " WHERE message_id = ? AND n = ?"
)


# Messages whose turn came earlier, newest first.
messages_before = All[MessageRecord, str, int, int](
    MESSAGES, "WHERE conversation_id = ? AND turn_no < ? ORDER BY turn_no DESC LIMIT ?"
)
# Jobs that had ended by then, newest first.
jobs_settled_before = All[JobRecord, str, int, int](
    JOBS,
    "WHERE conversation_id = ? AND state IN ('completed', 'failed')"
    " AND settled_at <= ? ORDER BY settled_at DESC LIMIT ?",
)
# Files a turn wrote.
reply_files = All[FileRecord, str](
    FILES, "WHERE message_id = ? AND job_id IS NULL AND replaced < 2 ORDER BY created_at, path"
)
# What came with a message, in the order given.
attachments = All[AttachmentRecord, str](ATTACHMENTS, "WHERE message_id = ? ORDER BY n")


def save_fetched(tx: Tx, a: AttachmentRecord) -> None:
    """The bytes of a URL are here."""
    params = (a.name, a.content_type, a.kind, a.size, a.revision, a.blob, a.message_id, a.n)
    tx.execute(_FETCHED, params)


# It could not be taken: a note says why.
drop_attachment = Change[str, int]("DELETE FROM attachments WHERE message_id = ? AND n = ?")
