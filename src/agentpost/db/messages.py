"""Reading messages, their jobs, files and log. All writing of state is in `db.record`."""

from __future__ import annotations

from agentpost.db.filtered import Conditions
from agentpost.db.filtered import newest as newest_that_fit
from agentpost.db.mapper import Mapper
from agentpost.db.session import Row, Tx
from agentpost.domain.job import JobRole
from agentpost.domain.message import MessageStatus
from agentpost.domain.message_filter import MessageFilter
from agentpost.domain.records import (
    EntryRecord,
    FileRecord,
    JobLink,
    JobRecord,
    MessageRecord,
    MessageSummary,
    Snapshot,
)

MESSAGES = Mapper(
    MessageRecord,
    "messages",
    "ON CONFLICT (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING",
)
JOBS = Mapper(JobRecord, "jobs")
FILES = Mapper(FileRecord, "files")
ENTRIES = Mapper(EntryRecord, "entries")

_BY_ID = f"{MESSAGES.select} WHERE id = ?"
_LOCK = f"{_BY_ID} /*for update*/"
_OF_KEY = f"{MESSAGES.select} WHERE id = ? AND key_id = ? AND expires_at > ?"
_BY_IDEMPOTENCY_KEY = f"{MESSAGES.select} WHERE key_id = ? AND idempotency_key = ? /*for update*/"
_NEXT_WAITING = (
    "SELECT id FROM messages WHERE conversation_id = ? AND turn_state = 'waiting'"
    " ORDER BY turn_wait_deadline, id LIMIT 1 /*for update*/"
)
_RUNNING = "SELECT id, turn_node FROM messages WHERE turn_state = 'running'"
_RUNNING_ON = "SELECT id, turn_epoch FROM messages WHERE turn_state = 'running' AND turn_node = ?"
_BUSY_DUE = (
    "SELECT id FROM messages WHERE turn_state = 'waiting' AND turn_wait_deadline <= ?"
    " ORDER BY turn_wait_deadline LIMIT ?"
)
_BEGUN_BEFORE = (
    "SELECT id FROM messages WHERE turn_state = 'running' AND turn_began_at <= ?"
    " ORDER BY turn_began_at LIMIT ?"
)
_FOR_NOBODY = (
    "SELECT m.id FROM messages m JOIN conversations c ON c.id = m.conversation_id"
    " WHERE m.turn_state = 'waiting' AND NOT EXISTS"
    " (SELECT 1 FROM messages r WHERE r.id = c.turn_message_id AND r.turn_state = 'running')"
)
_RUNS = "SELECT 1 FROM messages WHERE id = ? AND turn_state = 'running'"
_NEWEST = (
    "SELECT id, substr(text, 1, ?), status, reason, substr(reply, 1, ?), created_at"
    " FROM messages WHERE account_id = ? AND expires_at > ? ORDER BY id DESC LIMIT ?"
)
_VERSIONS = "SELECT id, state_version, version FROM messages WHERE id IN ({})"

_LINKS = (
    f"SELECT {', '.join('j.' + name for name in JOBS.columns)}, l.role"
    " FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
    " WHERE l.message_id = ? ORDER BY l.joined_at, l.job_id"
)
_FILES = (
    f"{FILES.select} WHERE (job_id IN (SELECT job_id FROM message_jobs WHERE message_id = ?)"
    " OR (message_id = ? AND job_id IS NULL)) AND replaced < 2 ORDER BY created_at, path"
)
_ENTRIES_AFTER = f"{ENTRIES.select} WHERE message_id = ? AND seq > ? ORDER BY seq LIMIT ?"


def get(tx: Tx, message_id: str) -> MessageRecord | None:
    """By id, whoever owns it: for our own machinery."""
    return MESSAGES.one(tx, _BY_ID, (message_id,))


def lock(tx: Tx, message_id: str) -> MessageRecord | None:
    """By id, and hold it until the commit."""
    return MESSAGES.one(tx, _LOCK, (message_id,))


def get_of_key(tx: Tx, message_id: str, key_id: str, now: int) -> MessageRecord | None:
    """By id, for the key that sent it, until its retention is over (spec: Limits)."""
    return MESSAGES.one(tx, _OF_KEY, (message_id, key_id, now))


def by_idempotency_key(tx: Tx, key_id: str, key: str) -> MessageRecord | None:
    """The message that holds an idempotency key."""
    return MESSAGES.one(tx, _BY_IDEMPOTENCY_KEY, (key_id, key))


def next_waiting(tx: Tx, conversation_id: str) -> MessageRecord | None:
    """The next waiting message of a conversation: in order of acceptance."""
    row = tx.one(_NEXT_WAITING, (conversation_id,))  # nearly always none: ask for few columns
    return lock(tx, row[0]) if row else None


def running_turns(tx: Tx) -> list[tuple[str, str | None]]:
    """(message id, node) of all turns that run."""
    return [(row[0], row[1]) for row in tx.all(_RUNNING)]


def turns_of(tx: Tx, node: str) -> dict[str, int]:
    """The epochs of the turns that a node runs, by message id."""
    return {row[0]: row[1] for row in tx.all(_RUNNING_ON, (node,))}


def busy_due(tx: Tx, now: int, limit: int) -> list[str]:
    """Messages that have waited long enough for their turn."""
    return [row[0] for row in tx.all(_BUSY_DUE, (now, limit))]


def begun_before(tx: Tx, at: int, limit: int) -> list[str]:
    """Turns that run since that time or longer."""
    return [row[0] for row in tx.all(_BEGUN_BEFORE, (at, limit))]


def waiting_for_nobody(tx: Tx) -> list[str]:
    """Waiting messages whose conversation has no running turn, even if its row names one."""
    return [row[0] for row in tx.all(_FOR_NOBODY)]


def turn_runs(tx: Tx, message_id: str) -> bool:
    """Whether the message is there and its turn runs."""
    return tx.one(_RUNS, (message_id,)) is not None


def newest(tx: Tx, account_id: str, now: int, characters: int, limit: int) -> list[MessageSummary]:
    """The account's newest messages, of whichever key, newest first."""
    rows = tx.all(_NEWEST, (characters, characters, account_id, now, limit))
    return [_summary(row) for row in rows]


def filtered(
    tx: Tx,
    account_id: str,
    wanted: MessageFilter,
    now: int,
    characters: int,
    *,
    before: str,
    limit: int,
) -> tuple[list[MessageSummary], str | None]:
    """The account's messages that fit and are older than the id ``before``, newest first, their
    texts cut. The second value: see `filtered.newest`."""
    fits = Conditions()
    fits.add("expires_at > ?", now)
    fits.equal("status", wanted.status.value if wanted.status else None)
    fits.equal("key_id", wanted.key_id)
    fits.equal("conversation_id", wanted.conversation_id)
    fits.contains("text", wanted.text)
    columns = (
        "id",
        f"substr(text, 1, {characters})",
        "status",
        "reason",
        f"substr(reply, 1, {characters})",
        "created_at",
    )
    found, more = newest_that_fit(
        tx, "messages", columns, account_id, fits, before=before, limit=limit
    )
    return [_summary(row) for row in found], more


def _summary(row: Row) -> MessageSummary:
    return MessageSummary(row[0], row[1], MessageStatus(row[2]), *row[3:])


def links(tx: Tx, message_id: str) -> list[JobLink]:
    """The message's jobs as it lists them."""
    rows = tx.all(_LINKS, (message_id,))
    return [JobLink(JOBS.of(row[:-1]), JobRole(row[-1])) for row in rows]


def files(tx: Tx, message_id: str) -> list[FileRecord]:
    """Every file of the reply and of the message's jobs."""
    return FILES.all(tx, _FILES, (message_id, message_id))


def snapshot(tx: Tx, message: MessageRecord) -> Snapshot:
    """All that a client sees of the message."""
    message_links = links(tx, message.id) if message.jobs else []
    has_files = message.jobs or message.reply_files
    return Snapshot(message, message_links, files(tx, message.id) if has_files else [])


def versions(tx: Tx, message_ids: list[str]) -> dict[str, tuple[int, int]]:
    """(state_version, version) of many messages, for the re-check of held reads."""
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, len(message_ids), 500):
        chunk = message_ids[start : start + 500]
        sql = _VERSIONS.format(", ".join("?" * len(chunk)))
        found.update({row[0]: (row[1], row[2]) for row in tx.all(sql, chunk)})
    return found


def entries_after(tx: Tx, message_id: str, seq: int, limit: int) -> list[EntryRecord]:
    """Entries of a message's log after that number, oldest first."""
    return ENTRIES.all(tx, _ENTRIES_AFTER, (message_id, seq, limit))
