"""Works and their files."""

from agentpost.blobs import account_rows, deletion_rows
from agentpost.db.mapper import Mapper
from agentpost.db.session import NO_FILES, Tx
from agentpost.db.statements import All, ChangeOf, First, SentChangeOf, Whether
from agentpost.domain import ids
from agentpost.messages.rows import FILES
from agentpost.record.records import FileRecord, WorkRecord, WorkShown

WORKS = Mapper(WorkRecord, "works")
_LIST = (
    f"{WORKS.select} WHERE account_id = ? AND id < ? AND home = 0 AND deleted_at IS NULL"
    " ORDER BY id DESC LIMIT ?"
)
_SHOWN = (
    "SELECT id, title, substr(text, 1, ?), question, state_json, EXISTS"
    " (SELECT 1 FROM files WHERE work_id = works.id AND replaced = 0)"
    " FROM works WHERE conversation_id = ? AND home = 0 AND deleted_at IS NULL"
    " ORDER BY id DESC LIMIT ?"
)

_FILES_OF_CONVERSATION = (
    f"{FILES.select} WHERE work_id IN (SELECT id FROM works WHERE conversation_id = ? AND home = 0"
    " AND deleted_at IS NULL ORDER BY id DESC LIMIT ?) AND replaced = 0 ORDER BY created_at, path"
)
_SUPERSEDE = "UPDATE files SET replaced = 1 WHERE work_id = ? AND path = ? AND replaced = 0"
_REWRITE = (
    "UPDATE files SET replaced = 2 WHERE message_id = ? AND COALESCE(job_id, '') = ?"
    " AND work_id = ? AND path = ? AND replaced < 2"
)
_SCHEDULE_UNLISTED = (
    "INSERT INTO pending_deletions (blob, due_at, tries)"
    " SELECT f.blob, CAST(? AS BIGINT), 0 FROM files f"
    " WHERE f.replaced = 2 AND (f.message_id = ? OR f.work_id = ?)"
    " AND NOT EXISTS (SELECT 1 FROM jobs j"
    " WHERE j.work_id = f.work_id AND j.state IN ('running', 'queued', 'overdue'))"
    " AND NOT EXISTS (SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
    " WHERE l.message_id = f.message_id AND l.role = 'execution'"
    " AND j.state IN ('running', 'queued', 'overdue'))"
    " AND NOT EXISTS (SELECT 1 FROM messages m"
    " WHERE m.id = f.message_id AND m.turn_state = 'running')"
    " ON CONFLICT (blob) DO UPDATE SET due_at = excluded.due_at"
)
_PENDING = (
    "SELECT blob, account_id, size FROM files"
    " WHERE replaced = 2 AND (message_id = ? OR work_id = ?)"
    " AND EXISTS (SELECT 1 FROM pending_deletions d WHERE d.blob = files.blob)"
    " ORDER BY blob"
)
_DELETE_FILE = "DELETE FROM files WHERE blob = ?"

# A work of the account that was not deleted.
get = First[WorkRecord, str, str](WORKS, "WHERE id = ? AND account_id = ? AND deleted_at IS NULL")
# `get`, held until the commit.
lock = First[WorkRecord, str, str](
    WORKS, "WHERE id = ? AND account_id = ? AND deleted_at IS NULL /*for update*/"
)


def list_(tx: Tx, account_id: str, limit: int, before: str | None = None) -> list[WorkRecord]:
    """The account's works older than that id, newest first; home works are not shown."""
    return WORKS.all(tx, _LIST, (account_id, before or ids.last(ids.WORK), limit))


# A conversation's works, newest first.
of_conversation = All[WorkRecord, str, int](
    WORKS, "WHERE conversation_id = ? AND home = 0 AND deleted_at IS NULL ORDER BY id DESC LIMIT ?"
)


def list_for_turn(tx: Tx, conversation_id: str, limit: int, characters: int) -> list[WorkShown]:
    """A conversation's works as a turn is shown them, newest first, their texts cut."""
    return [WorkShown(*row) for row in tx.all(_SHOWN, (characters, conversation_id, limit))]


# Whether any job of the work still executes.
is_running = Whether[str](
    "SELECT 1 FROM jobs WHERE work_id = ? AND state IN ('running', 'overdue') LIMIT 1"
)


# The result that a job leaves in its work: its text, question and memory, and when.
save_result = SentChangeOf[str, str, str | None, str, int](
    "UPDATE works SET text = ?, question = ?, state_json = ?, updated_at = ? WHERE id = ?"
)


# From here on the work and its files answer 404.
delete = ChangeOf[str, int]("UPDATE works SET deleted_at = ? WHERE id = ?")


def put_file(tx: Tx, file: FileRecord) -> None:
    """A file lands in a work, over an older one of the same path.

    Whoever made the older one still lists it, since a final message does not change; a job that
    writes a path twice lists its last. The one before is kept, unlisted, for
    `release_unlisted_files`. The caller counts the bytes (`blobs.account_rows`) at the end of the
    transaction.
    """
    deletion_rows.keep(tx, file.blob)
    tx.execute(_REWRITE, (file.message_id, file.job_id or "", file.work_id, file.path))
    tx.execute(_SUPERSEDE, (file.work_id, file.path))
    FILES.insert(tx, file)
    tx.facts.discard((NO_FILES, file.job_id or ""))


def release_unlisted_files(tx: Tx, due_at: int, message_id: str, work_id: str = "") -> None:
    """Schedule the deletion of replaced files of a message and a work that no message lists, unless
    they may still be named.

    A recorded call may: of the turn or a job of the message that made it, or of a job of its work,
    as long as that is open and can be run again. Call this after ending a turn or job, in the same
    transaction.
    """
    if tx.execute(_SCHEDULE_UNLISTED, (due_at, message_id, work_id)):
        files = tx.all(_PENDING, (message_id, work_id))
        deleted_files = [each for each in files if tx.execute(_DELETE_FILE, each[:1])]
        account_rows.subtract(tx, [(account_id, size) for _, account_id, size in deleted_files])


# One file of a work that was not deleted, whoever owns it: a link is its own permission. None when
# its account is being deleted.
file = First[FileRecord, str, str](
    FILES,
    "WHERE work_id = ? AND path = ? AND replaced = 0 AND EXISTS (SELECT 1"
    " FROM works w JOIN accounts a ON a.id = w.account_id"
    " WHERE w.id = work_id AND w.deleted_at IS NULL AND a.deleted_at IS NULL)",
)
# All files of a work, oldest first.
files = All[FileRecord, str](FILES, "WHERE work_id = ? AND replaced = 0 ORDER BY created_at, path")


def files_by_work(tx: Tx, conversation_id: str, limit: int) -> dict[str, list[FileRecord]]:
    """All files of a conversation's newest works by work id, each work's oldest first."""
    files: dict[str, list[FileRecord]] = {}
    for record in FILES.all(tx, _FILES_OF_CONVERSATION, (conversation_id, limit)):
        files.setdefault(record.work_id, []).append(record)
    return files


# The newest files of a work, newest first.
recent_files = All[FileRecord, str, int](
    FILES, "WHERE work_id = ? AND replaced = 0 ORDER BY created_at DESC, path LIMIT ?"
)
