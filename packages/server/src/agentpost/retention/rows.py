"""Find and delete expired rows, a bounded number at a time.

Ids sort by time, so what is old is mostly found by walking a table in the order of its primary key:
the hot path pays for no index that only the purge would use. Messages with jobs are kept for longer
than their ids say, so those are found by an index that has no others.
"""

from typing import NamedTuple

from agentpost.db.session import Tx
from agentpost.db.statements import Change, Firsts, Rows


def _some_of(table: str, owner: str, number: str) -> str:
    """Deletes rows of one owner, the first by their number, at most so many."""
    first = f"SELECT {number} FROM {table} WHERE {owner} = ? ORDER BY {number} LIMIT ?"
    return f"DELETE FROM {table} WHERE {owner} = ? AND {number} IN ({first})"


_OF_OWNER = (
    _some_of("calls", "owner", "n"),
    _some_of("signals", "owner", "id"),
    _some_of("agent_lines", "owner", "id"),
)
_OF_JOB = (*_OF_OWNER, _some_of("inbox", "job_id", "n"))
_OF_MESSAGE = (
    *_OF_OWNER,
    _some_of("entries", "message_id", "seq"),
)
_ATTACHMENTS = (
    "SELECT a.n, a.blob, m.account_id, a.size FROM attachments a JOIN messages m"
    " ON m.id = a.message_id WHERE a.message_id = ? ORDER BY a.n LIMIT ?"
)
_DELETE_ATTACHMENT = "DELETE FROM attachments WHERE message_id = ? AND n = ?"
_ATTACHED = "DELETE FROM uploads WHERE message_id = ? AND swept = 1"
_EVENTS = "SELECT id FROM events WHERE message_id = ? ORDER BY id LIMIT ?"
_WORK_FILES = "SELECT blob, account_id, size FROM files WHERE work_id = ? ORDER BY blob LIMIT ?"
_DELETE_FILE = "DELETE FROM files WHERE blob = ?"
_LOOSE_EVENTS = "SELECT id FROM events WHERE message_id IS NULL AND id < ? ORDER BY id LIMIT ?"


def _oldest(table: str) -> str:
    """Deletes the first rows by their id, at most so many."""
    first = f"SELECT id FROM {table} WHERE id < ? ORDER BY id LIMIT ?"
    return f"DELETE FROM {table} WHERE id IN ({first})"


def _delete_expired_sql(table: str) -> str:
    """Deletes what is over for longest, at most so many."""
    first = f"SELECT digest FROM {table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"
    return f"DELETE FROM {table} WHERE digest IN ({first})"


_LOGIN_TOKENS = _delete_expired_sql("login_tokens")
_SESSIONS = _delete_expired_sql("sessions")


class DeletedFile(NamedTuple):
    """The deleted row of a file. Its ``size`` in bytes was counted as stored by the account, unless
    it had no bytes: then ``blob`` is None."""

    blob: str | None
    account_id: str
    size: int


# (id, created at, expires at, whether it holds an idempotency key) of messages with ids between the
# two, oldest first.
page = Rows[tuple[str, int, int, bool], str, str, int](
    "SELECT id, created_at, expires_at, idempotency_key IS NOT NULL FROM messages"
    " WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
)
# (expires at, id) of messages with jobs past their retention, behind such a pair.
expired_with_jobs = Rows[tuple[int, str], int, int, str, int](
    "SELECT expires_at, id FROM messages WHERE jobs > 0 AND expires_at <= ?"
    " AND (expires_at, id) > (?, ?) ORDER BY expires_at, id LIMIT ?"
)
# (message id, seq, at) of log entries behind such a message and seq, of messages older than that.
entries_page = Rows[tuple[str, int, int], str, int, str, int](
    "SELECT message_id, seq, at FROM entries"
    " WHERE (message_id, seq) > (?, ?) AND message_id < ? ORDER BY message_id, seq LIMIT ?"
)
# The beginning of a message's log.
delete_entries = Change[str, int]("DELETE FROM entries WHERE message_id = ? AND seq <= ?")


# (job id, whether another message lists it too) of a message's jobs.
jobs_of = Rows[tuple[str, bool], str](
    "SELECT l.job_id, EXISTS (SELECT 1 FROM message_jobs o WHERE o.job_id = l.job_id"
    " AND o.message_id <> l.message_id) FROM message_jobs l WHERE l.message_id = ?"
    " ORDER BY l.job_id"
)
# Hold a message's jobs until the commit, in the order in which all lock them.
lock_jobs = Firsts[str](
    "SELECT id FROM jobs WHERE id IN (SELECT job_id FROM message_jobs WHERE message_id = ?)"
    " ORDER BY id /*for update*/"
)


def delete_job_parts(tx: Tx, job_id: str, limit: int) -> int:
    """Calls, signals, lines and follow-ups of a job; how many rows went: ``limit`` if there are
    more."""
    return _delete(tx, _OF_JOB, job_id, limit)


# A job without parts.
delete_job = Change[str]("DELETE FROM jobs WHERE id = ?")
# Take a job from a message's list.
unlink = Change[str, str]("DELETE FROM message_jobs WHERE message_id = ? AND job_id = ?")


def delete_message_parts(tx: Tx, message_id: str, limit: int) -> int:
    """Log, calls, signals, lines, events, deliveries and attempts of a message; as above."""
    count = _delete(tx, _OF_MESSAGE, message_id, limit)
    return count + delete_events(tx, _EVENTS, message_id, limit - count) if count < limit else count


def delete_message(tx: Tx, message_id: str) -> None:
    """A message without parts, and the uploads that were attached to it and cleaned up."""
    tx.execute(_ATTACHED, (message_id,))
    tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))


# Works that were deleted and still have a row.
deleted_works = Firsts[int]("SELECT id FROM works WHERE deleted_at IS NOT NULL ORDER BY id LIMIT ?")


def detach_attachments(tx: Tx, message_id: str, limit: int) -> list[DeletedFile]:
    """Delete rows of what came with a message; the caller holds its lock."""
    rows = tx.all(_ATTACHMENTS, (message_id, limit))
    for row in rows:
        tx.execute(_DELETE_ATTACHMENT, (message_id, row[0]))
    return [DeletedFile(*row[1:]) for row in rows]


def detach_files(tx: Tx, work_id: str, limit: int) -> list[DeletedFile]:
    """Delete rows of a work's files, replaced ones too. What somebody else deleted meanwhile is not
    among them."""
    files = [DeletedFile(*row) for row in tx.all(_WORK_FILES, (work_id, limit))]
    return [file for file in files if tx.execute(_DELETE_FILE, (file.blob,))]


# Mark replaced files of a message as no longer listed; how many.
unlist_files = Change[str, int](
    "UPDATE files SET replaced = 2 WHERE blob IN"
    " (SELECT blob FROM files WHERE message_id = ? AND replaced = 1 ORDER BY blob LIMIT ?)"
)
# A deleted work, unless it has files still.
delete_work = Change[str](
    "DELETE FROM works WHERE id = ? AND deleted_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM files WHERE work_id = works.id)"
)
# The oldest lines of the request log.
delete_requests = Change[str, int](_oldest("requests"))
# The oldest mails, sent or not.
delete_mails = Change[str, int](_oldest("mails"))


def delete_loose_events(tx: Tx, before: str, limit: int) -> int:
    """The oldest events of no message (tests of endpoints), with their deliveries; as above."""
    return delete_events(tx, _LOOSE_EVENTS, before, limit)


def delete_sessions(tx: Tx, now: int, ended_before: int, limit: int) -> int:
    """Expired login links, and sessions that had ended by then; as above."""
    count = tx.execute(_LOGIN_TOKENS, (now, limit))
    return count + tx.execute(_SESSIONS, (ended_before, limit - count))


def delete_events(tx: Tx, query: str, owner: str, limit: int) -> int:
    """Delete whole events that a query finds by ``owner``: a row each for themselves and for every
    attempt, and a few rows more than ``limit`` when the last one has many."""
    count = 0
    for (event_id,) in tx.all(query, (owner, limit)):
        if count >= limit:
            break
        attempts = tx.execute("DELETE FROM attempts WHERE event_id = ?", (event_id,))
        tx.execute("DELETE FROM deliveries WHERE event_id = ?", (event_id,))
        tx.execute("DELETE FROM event_numbers WHERE event_id = ?", (event_id,))
        tx.execute("DELETE FROM events WHERE id = ?", (event_id,))
        count += 1 + attempts
    return count


def _delete(tx: Tx, statements: tuple[str, ...], owner: str, limit: int) -> int:
    count = 0
    for sql in statements:
        if count >= limit:
            break
        count += tx.execute(sql, (owner, owner, limit - count))
    return count
