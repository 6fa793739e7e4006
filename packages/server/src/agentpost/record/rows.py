"""The only statements that write the state of messages and jobs, and their log.

Only `record.writer` may import this. Each write names the state it started from and fails loudly
when the row is no longer in it.
"""

from operator import attrgetter

from agentpost.clock import new_id
from agentpost.contract.shape import dumps
from agentpost.db.session import Tx
from agentpost.db.statements import Change, ChangeOf, SentChangeOf
from agentpost.domain import ids
from agentpost.domain.errors import Fenced
from agentpost.jobs.rules import JobRole
from agentpost.messages.rows import ENTRIES, JOBS, MESSAGES
from agentpost.record.records import EntryRecord, JobRecord, MessageRecord
from agentpost.record.signals import JobSignal, TurnSignal

_WRITTEN_APART = (
    *("turn_no", "response_schema_json", "answer_json", "answered_by"),
    *("turn_deaths", "turn_retried_at"),
)
_MESSAGE_CHANGES = tuple(
    # Its place among the turns is given once, and is in an index, which is written again whenever
    # an UPDATE names the column. The others are written by statements of their own, or never again.
    name
    for name in MESSAGES.columns[MESSAGES.columns.index("notes_json") :]
    if name not in _WRITTEN_APART
)
_message_changes = attrgetter(*_MESSAGE_CHANGES)
_UPDATE_MESSAGE = MESSAGES.update_sql(_MESSAGE_CHANGES, "id = ? AND version = ?")
_JOB_CHANGES = tuple(
    name for name in JOBS.columns[JOBS.columns.index("state") :] if name != "output_json"
)
_job_changes = attrgetter(*_JOB_CHANGES)
_UPDATE_JOB = JOBS.update_sql(_JOB_CHANGES, "id = ? AND state = ? AND epoch = ?")
_INSERT_LINK = (
    "INSERT INTO message_jobs (message_id, job_id, role, joined_at) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (message_id, job_id) DO NOTHING"
)
_INSERT_SIGNAL = "INSERT INTO signals (owner, id, at, name, body_json) VALUES (?, ?, ?, ?, ?)"
_COUNT_CALL = (
    "UPDATE jobs SET calls = calls + 1"
    " WHERE id = ? AND epoch = ? AND state IN ('running', 'overdue')"
)
_SET_OUTPUT = (
    "UPDATE jobs SET calls = calls + 1, output_json = ?"
    " WHERE id = ? AND epoch = ? AND state IN ('running', 'overdue')"
)


def insert_message(tx: Tx, message: MessageRecord) -> bool:
    """False when the idempotency key is taken."""
    if message.idempotency_key is None:
        MESSAGES.insert_unchecked(tx, message)  # nothing can stand against it
        return True
    return MESSAGES.insert(tx, message)


# Take the key from a message whose hold on it has lapsed (design: Idempotency).
free_idempotency_key = Change[str]("UPDATE messages SET idempotency_key = NULL WHERE id = ?")


def update_message(tx: Tx, message: MessageRecord, version_before: int) -> None:
    """Write what may change of a message; raises `Fenced` when somebody else was faster."""
    params = (*_message_changes(message), message.id, version_before)
    tx.update_exactly_one(_UPDATE_MESSAGE, params, Fenced(f"message {message.id} has moved on"))


# The message is a 404 from that time on.
set_expiry = ChangeOf[str, int]("UPDATE messages SET expires_at = ? WHERE id = ?")
# The turn of a waiting message begins.
set_turn_no = SentChangeOf[str, int | None]("UPDATE messages SET turn_no = ? WHERE id = ?")
# The turn of a message is run again after a death of its node.
set_turn_deaths = SentChangeOf[str, int, int | None](
    "UPDATE messages SET turn_deaths = ?, turn_retried_at = ? WHERE id = ?"
)
# The POST call that waits for the message's turn is answered at that time.
set_reply_deadline = ChangeOf[str, int]("UPDATE messages SET reply_deadline = ? WHERE id = ?")


def insert_job(tx: Tx, job: JobRecord) -> None:
    """A job is made, in the list of the message that starts it."""
    JOBS.insert_unchecked(tx, job)
    link = (job.message_id, job.id, JobRole.EXECUTION, job.created_at)
    tx.execute_nowait(_INSERT_LINK, link)


def update_job(tx: Tx, job: JobRecord, state_before: str, epoch_before: int) -> None:
    """Write what may change of a job; raises `Fenced` when it is no longer in that state."""
    params = (*_job_changes(job), job.id, state_before, epoch_before)
    tx.update_exactly_one(_UPDATE_JOB, params, Fenced(f"job {job.id} has moved on"))


def count_call(tx: Tx, job_id: str, epoch: int) -> None:
    """One more recorded call; raises `Fenced` when the runner no longer owns the job."""
    tx.update_exactly_one(
        _COUNT_CALL, (job_id, epoch), Fenced(f"job {job_id} is not ours any more")
    )


def set_output(tx: Tx, job_id: str, epoch: int, output_json: str) -> None:
    """The job's output, which is a recorded call; raises `Fenced` like `count_call`."""
    error = Fenced(f"job {job_id} is not ours any more")
    tx.update_exactly_one(_SET_OUTPUT, (output_json, job_id, epoch), error)


# The message that answers what this one asks.
set_answered = ChangeOf[str, str]("UPDATE messages SET answered_by = ? WHERE id = ?")
# Release the node's job, by its id and epoch; 0 when it has ended or moved on meanwhile.
release_ownership = Change[str, int, str](
    "UPDATE jobs SET node = NULL WHERE id = ? AND epoch = ? AND node = ?"
    " AND state IN ('running', 'overdue')"
)


def append_entry(tx: Tx, entry: EntryRecord) -> None:
    """A line of the log."""
    ENTRIES.insert_unchecked(tx, entry)


def link_job(tx: Tx, message_id: str, job_id: str, role: JobRole, now: int) -> bool:
    """Put a job into a message's list; False when it is there already."""
    return tx.execute(_INSERT_LINK, (message_id, job_id, role, now)) == 1


def keep_signal(tx: Tx, owner: str, signal: TurnSignal | JobSignal, now: int) -> None:
    """Keep a signal of a message or job: `agentpost explain` tells the story from these rows. Two
    that every message has are not kept, since other rows say the same (`explain.timeline`)."""
    signal_id, name = new_id(ids.SIGNAL, now), type(signal).__name__
    tx.execute_nowait(_INSERT_SIGNAL, (owner, signal_id, now, name, dumps(signal)))
