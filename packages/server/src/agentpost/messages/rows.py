"""Reading messages, their jobs, files and log. All writing of state is in `record.rows`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.accounts.rows import ACCOUNTS
from agentpost.db import as_json
from agentpost.db.filtered import counts
from agentpost.db.mapper import Mapper
from agentpost.db.session import NO_FILES, UNHEARD, Row, Tx, scalar
from agentpost.db.statements import All, First, Firsts, Rows, Value, Whether
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.jobs.rules import JobRole, Reason
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.nodes.ownership_rows import comparison
from agentpost.record.records import (
    AccountRecord,
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

_IS_HEARD = (
    "(EXISTS (SELECT 1 FROM endpoints e WHERE e.account_id = messages.account_id)"
    " OR EXISTS (SELECT 1 FROM event_readers r WHERE r.account_id = messages.account_id))"
)
_CHANGED = f"messages.version, messages.reply_deadline, messages.expires_at, {_IS_HEARD}"
_VERSION = (
    f"SELECT {_CHANGED}, (SELECT w.id FROM messages w"
    " WHERE w.conversation_id = messages.conversation_id AND w.turn_state = 'waiting'"
    # The order makes SQLite take the index of waiting turns, not one of the whole conversation.
    " ORDER BY w.turn_wait_deadline, w.id LIMIT 1)"
    " FROM messages WHERE id = ? /*for update*/"
)
_HOLD_CONVERSATION = "SELECT 1 FROM conversations WHERE id = ? /*for update*/"
_STARTING = (
    f"SELECT {_CHANGED}, (SELECT COUNT(*) FROM jobs j WHERE j.account_id = messages.account_id"
    " AND j.state IN ('running', 'overdue')),"
    " (SELECT k.max_credits_per_day FROM keys k WHERE k.id = messages.key_id),"
    f" {', '.join('a.' + name for name in ACCOUNTS.columns)}"
    " FROM messages JOIN accounts a ON a.id = messages.account_id"
    " WHERE messages.id = ? /*for update*/"
)
_LOCK_OF_JOB = (
    f"SELECT {', '.join(MESSAGES.columns)}, {_IS_HEARD},"
    " EXISTS (SELECT 1 FROM files f WHERE f.job_id = ?),"
    " (EXISTS (SELECT 1 FROM files f WHERE f.message_id = messages.id AND f.replaced = 2)"
    " OR EXISTS (SELECT 1 FROM files f WHERE f.work_id = ? AND f.replaced = 2))"
    " FROM messages WHERE id IN (SELECT message_id FROM message_jobs WHERE job_id = ?)"
    " ORDER BY id /*for update*/"
)
_STATE_OF_KEY = (
    "SELECT version, state_version, final FROM messages"
    " WHERE id = ? AND key_id = ? AND expires_at > ?"
)
_OF_PREFIX = (
    f"{MESSAGES.select} WHERE key_id = ? AND idempotency_key >= ? AND idempotency_key <= ?"
    # In the order of some languages, others stand between them.
    " AND substr(idempotency_key, 1, ?) = ? ORDER BY idempotency_key DESC LIMIT ?"
)
_NEXT_WAITING = (
    "SELECT id FROM messages WHERE conversation_id = ? AND turn_state = 'waiting'"
    " ORDER BY turn_wait_deadline, id LIMIT 1 /*for update*/"
)
_QUEUE_POSITION = (
    "SELECT COUNT(*) FROM messages WHERE conversation_id = ? AND turn_state = 'waiting'"
    " AND (turn_wait_deadline < ? OR (turn_wait_deadline = ? AND id <= ?))"
)
_LEFT = (
    "SELECT id, turn_node, turn_deaths FROM messages"
    " WHERE turn_state = 'running' AND (turn_node IS NULL"
    " OR turn_node NOT IN (SELECT alive.key FROM json_each(?) AS alive))"
)
OWNED: Final = comparison(
    "messages", node="turn_node", epoch="turn_epoch", executing="turn_state = 'running'"
)
_BUSY_DUE = (
    "SELECT id FROM messages WHERE turn_state = 'waiting'"
    " AND turn_wait_deadline <= ? AND turn_wait_deadline + COALESCE(queue_patience, 0) <= ?"
    " ORDER BY turn_wait_deadline LIMIT ?"
)
_BEGUN_BEFORE = (
    "SELECT id FROM messages WHERE turn_state = 'running' AND turn_began_at <= ?"
    " AND (turn_deaths = 0 OR (COALESCE(turn_retried_at, turn_began_at) <= ?"
    # Without a living node it waits until it may run apart from others, which is not its time.
    " AND turn_node IN (SELECT id FROM nodes)))"
    " ORDER BY turn_began_at LIMIT ?"
)
_CHARACTERS = 300
SUMMARY = (
    "id",
    f"substr(text, 1, {_CHARACTERS})",
    "status",
    "reason",
    f"substr(reply, 1, {_CHARACTERS})",
    "created_at",
    "key_id",
    "user_id",
    "conversation",
)
_OTHER_VERSIONS = (
    "SELECT found.key, found.version FROM (SELECT seen.key, seen.value,"
    " (SELECT m.version FROM messages m WHERE m.id = seen.key) AS version"
    f" FROM json_each(?) AS seen) AS found WHERE found.version <> {as_json.NUMBER.format('found')}"
)

_LINKS = (
    f"SELECT {', '.join('j.' + name for name in JOBS.columns)}, l.role"
    " FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
    " WHERE l.message_id = ? ORDER BY l.joined_at, l.job_id"
)
_FILES = (
    f"{FILES.select} WHERE (job_id IN (SELECT job_id FROM message_jobs WHERE message_id = ?)"
    " OR (message_id = ? AND job_id IS NULL)) AND replaced < 2 ORDER BY created_at, path"
)


# By id, whoever owns it: for our own machinery.
get = First[MessageRecord, str](MESSAGES, "WHERE id = ?")
# By id, and hold it until the commit.
lock = First[MessageRecord, str](MESSAGES, "WHERE id = ? /*for update*/")


def lock_all_of(tx: Tx, job_id: str, work_id: str) -> list[tuple[MessageRecord, bool]]:
    """The messages that list the job, held until the commit, in the order of locks; and whether the
    message, or the job's work, has files that were replaced and may be due. A job may outlive a
    message that joined it."""
    rows = tx.all(_LOCK_OF_JOB, (job_id, work_id, job_id))
    messages = [MESSAGES.of(row[:-3]) for row in rows]
    for message, (*_, is_heard, has_files, _) in zip(messages, rows, strict=True):
        if not is_heard:
            tx.facts.add((UNHEARD, message.account_id))
        if not has_files:
            tx.facts.add((NO_FILES, job_id))
    return [(message, bool(row[-1])) for message, row in zip(messages, rows, strict=True)]


def lock_known(tx: Tx, cached: MessageRecord) -> tuple[MessageRecord | None, bool]:
    """`lock` for who has read the message before: it is read again only when it has changed. The
    times that are set without a new version are those of the row.

    The record is another one than ``cached``, which may belong to another thread. The second value:
    whether a turn waits in the conversation, which holds until the commit if that is locked.
    """
    row = tx.one(_VERSION, (cached.id,))
    if row is None:
        return None, False
    return _as_in(tx, row, cached), row[4] is not None


@dataclass(frozen=True, slots=True)
class Starting:
    """A locked message that is about to start a job, and its account. ``executing``: how many slots
    of the account are taken. ``per_day``: what its key may use in a day, in millionths."""

    message: MessageRecord | None
    account: AccountRecord
    executing: int
    per_day: int | None


def lock_starting(tx: Tx, cached: MessageRecord) -> Starting | None:
    """`lock_known` for who starts a job, and holds the conversation and the account."""
    tx.lock(_HOLD_CONVERSATION, (cached.conversation_id,))
    account_rows.lock_only(tx, cached.account_id)
    row = tx.one(_STARTING, (cached.id,))
    if row is None:
        return None
    return Starting(_as_in(tx, row, cached), ACCOUNTS.of(row[6:]), row[4], row[5])


def _as_in(tx: Tx, row: Row, cached: MessageRecord) -> MessageRecord | None:
    """The message whose row begins like `_CHANGED`."""
    if not row[3]:
        tx.facts.add((UNHEARD, cached.account_id))
    if row[0] != cached.version:
        return lock(tx, cached.id)
    message = MESSAGES.record(*MESSAGES.values(cached))  # `replace` takes ten times as long
    message.reply_deadline, message.expires_at = row[1], row[2]
    return message


# By id, for the key that sent it, until its retention is over (spec: Limits).
get_of_key = First[MessageRecord, str, str, int](
    MESSAGES, "WHERE id = ? AND key_id = ? AND expires_at > ?"
)


def of_key(tx: Tx, message_id: str, key_id: str, now: int) -> MessageRecord:
    """`get_of_key`; raises ``not_found``."""
    message = (
        get_of_key(tx, message_id, key_id, now) if ids.is_id(ids.MESSAGE, message_id) else None
    )
    if message is None:
        raise not_found("message")
    return message


def of_account(tx: Tx, message_id: str, account_id: str, now: int) -> MessageRecord:
    """`of_key` for a person of the account, whichever key sent the message."""
    message = get(tx, message_id) if ids.is_id(ids.MESSAGE, message_id) else None
    if message is None or message.account_id != account_id or message.expires_at <= now:
        raise not_found("message")
    return message


def state_of_key(tx: Tx, message_id: str, key_id: str, now: int) -> tuple[int, int, bool] | None:
    """`get_of_key` for who asks whether it changed: (version, state_version, final)."""
    row = tx.one(_STATE_OF_KEY, (message_id, key_id, now))
    return None if row is None else (row[0], row[1], bool(row[2]))


# The message that holds an idempotency key.
by_idempotency_key = First[MessageRecord, str, str](
    MESSAGES, "WHERE key_id = ? AND idempotency_key = ? /*for update*/"
)
# `by_idempotency_key` for reading: it is not held.
of_idempotency_key = First[MessageRecord, str, str](
    MESSAGES, "WHERE key_id = ? AND idempotency_key = ?"
)


def of_idempotency_keys(
    tx: Tx, key_id: str, keys: list[str], now: int, characters: int
) -> list[tuple[str, MessageSummary]]:
    """(idempotency key, message) of a key's messages that were sent with one of those."""
    marks = ", ".join("?" * len(keys))
    sql = (
        "SELECT idempotency_key, id, substr(text, 1, ?), status, reason, substr(reply, 1, ?),"
        " created_at FROM messages WHERE key_id = ? AND expires_at > ?"
        f" AND idempotency_key IN ({marks})"
    )
    rows = tx.all(sql, (characters, characters, key_id, now, *keys))
    return [(row[0], summary_of(row[1:])) for row in rows]


def of_prefix(tx: Tx, key_id: str, prefix: str, limit: int) -> list[MessageRecord]:
    """A key's messages whose idempotency keys begin so and go on with hex digits, from the highest
    on."""
    return MESSAGES.all(tx, _OF_PREFIX, (key_id, prefix, f"{prefix}g", len(prefix), prefix, limit))


def highest_of_prefix(tx: Tx, key_id: str, prefix: str) -> MessageRecord | None:
    """The first of `of_prefix`."""
    return next(iter(of_prefix(tx, key_id, prefix, 1)), None)


# Whether a conversation has a message that is newer than that one.
is_followed = Whether[str, str](
    "SELECT 1 FROM messages WHERE conversation_id = ? AND id > ? LIMIT 1"
)


def next_waiting(tx: Tx, conversation_id: str) -> MessageRecord | None:
    """The next waiting message of a conversation: in order of acceptance."""
    row = tx.one(_NEXT_WAITING, (conversation_id,))  # nearly always none: ask for few columns
    return lock(tx, row[0]) if row else None


def queue_position(tx: Tx, message: MessageRecord) -> int | None:
    """Where a message stands that was sent to be queued, 1: its turn is next; None for others."""
    if message.queue_patience is None or message.turn_state is not TurnState.WAITING:
        return None
    at = message.turn_wait_deadline
    return int(scalar(tx, _QUEUE_POSITION, (message.conversation_id, at, at, message.id)))


# (message id, node) of all turns that run.
running_turns = Rows[tuple[str, str | None]](
    "SELECT id, turn_node FROM messages WHERE turn_state = 'running'"
)


def turns_left_by(tx: Tx, alive: set[str]) -> list[tuple[str, str | None, int]]:
    """(message id, node, deaths before) of the turns that run, but those of these nodes."""
    return [(row[0], row[1], row[2]) for row in tx.all(_LEFT, (as_json.names(alive),))]


def busy_due(tx: Tx, now: int, limit: int) -> list[str]:
    """Messages that have waited long enough for their turn."""
    return [row[0] for row in tx.all(_BUSY_DUE, (now, now, limit))]


def begun_before(tx: Tx, at: int, limit: int) -> list[str]:
    """Turns that run since that time or longer."""
    return [row[0] for row in tx.all(_BEGUN_BEFORE, (at, at, limit))]


# Waiting messages whose conversation has no running turn, even if its row names one.
waiting_for_nobody = Firsts[()](
    "SELECT m.id FROM messages m JOIN conversations c ON c.id = m.conversation_id"
    " WHERE m.turn_state = 'waiting' AND NOT EXISTS"
    " (SELECT 1 FROM messages r WHERE r.id = c.turn_message_id AND r.turn_state = 'running')"
)
# Whether the message is there and its turn runs.
turn_runs = Whether[str]("SELECT 1 FROM messages WHERE id = ? AND turn_state = 'running'")
# The trace context that a message came with.
traceparent = Value[str, str]("SELECT traceparent FROM messages WHERE id = ?")


def ends(tx: Tx, account_id: str, since: str) -> list[tuple[MessageStatus, Reason | None, int]]:
    """(status, reason, how many) of the account's messages with an id from ``since`` on; see
    `filtered.counts`."""
    columns = ("status", "reason")
    before = ids.last(ids.MESSAGE)
    rows = counts(tx, "messages", columns, account_id, before=before, since=since)
    return [(MessageStatus(row[0]), Reason(row[1]) if row[1] else None, row[2]) for row in rows]


def summary_of(row: Row) -> MessageSummary:
    """The message of the columns `SUMMARY`."""
    return MessageSummary(row[0], row[1], MessageStatus(row[2]), *row[3 : len(SUMMARY)])


def links(tx: Tx, message_id: str) -> list[JobLink]:
    """The message's jobs as it lists them."""
    rows = tx.all(_LINKS, (message_id,))
    return [JobLink(JOBS.of(row[:-1]), JobRole(row[-1])) for row in rows]


def files(tx: Tx, message_id: str) -> list[FileRecord]:
    """Every file of the reply and of the message's jobs."""
    return FILES.all(tx, _FILES, (message_id, message_id))


def prefetch_snapshot(tx: Tx, message_id: str) -> None:
    """`snapshot` follows in a transaction that only reads. Who asks for a message has mostly
    started a job with it."""
    tx.prefetch(_LINKS, (message_id,))
    tx.prefetch(_FILES, (message_id, message_id))


def snapshot(tx: Tx, message: MessageRecord) -> Snapshot:
    """All that a client sees of the message."""
    return snapshot_of(tx, message, links(tx, message.id) if message.jobs else [], None)


def snapshot_of(
    tx: Tx, message: MessageRecord, its_jobs: list[JobLink], of_jobs: list[FileRecord] | None
) -> Snapshot:
    """`snapshot` for who knows the message's jobs; ``of_jobs``: their files, where they are known
    too."""
    has_others = message.reply_files or (message.jobs and of_jobs is None)
    all_files = files(tx, message.id) if has_others else of_jobs or []
    return Snapshot(message, its_jobs, all_files, queue_position(tx, message))


def other_versions(tx: Tx, versions: Mapping[str, int]) -> dict[str, int]:
    """The versions of those messages that have another one than was seen, by id."""
    pieces = as_json.pieces(versions)
    return {row[0]: row[1] for piece in pieces for row in tx.all(_OTHER_VERSIONS, (piece,))}


# Entries of a message's log after that number, oldest first.
entries_after = All[EntryRecord, str, int, int](
    ENTRIES, "WHERE message_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
