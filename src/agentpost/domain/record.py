"""The record as plain data: what is stored of a message, its jobs, files and log.

Field order is column order (`db.tables`). Times are microseconds, ``*_json`` is JSON text.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.domain.filenames import FileKind
from agentpost.domain.job import JobKind, JobRole, JobState, Reason
from agentpost.domain.message import MessageStatus, TurnState


@dataclass(slots=True)
class MessageRecord:
    """A message with its turn; status, reason, question and final are derived (`domain.status`)."""

    id: str
    account_id: str
    key_id: str
    conversation_id: str
    text: str
    metadata_json: str | None
    traceparent: str | None
    webhook_endpoint_id: str | None
    idempotency_key: str | None
    fingerprint: str
    attachments: int  # how many attachment rows
    notes_json: str
    turn_state: TurnState
    turn_no: int | None  # place in the conversation, given when the turn begins
    turn_node: str | None
    turn_epoch: int
    turn_began_at: int | None
    turn_inputs_json: str | None
    busy_by: int  # a waiting turn gives up then
    sync_by: int  # the POST call answers by then
    asked: str | None  # the question of the turn
    reply: str | None
    status: MessageStatus
    reason: Reason | None
    question: str | None
    final: int
    jobs: int  # how many jobs it started or joined
    reply_files: int
    seq: int  # last log entry
    version: int  # every change
    state_version: int  # changes of status, reply or a job's status: what a held read waits for
    created_at: int
    updated_at: int  # when the turn ended
    expires_at: int


@dataclass(slots=True)
class JobRecord:
    """A job. ``node``/``epoch`` name the runner that owns it."""

    id: str
    account_id: str
    conversation_id: str
    message_id: str
    work_id: str
    kind: JobKind
    title: str
    state: JobState
    reason: Reason | None
    fn: str
    args_json: str
    question: str | None
    result: str | None
    step: str | None
    running_json: str | None  # for a refusal: what ran instead
    node: str | None
    epoch: int
    calls: int  # recorded calls
    calls_taken: int  # recorded calls when it was last taken over
    recoveries: int  # take-overs in a row without a newly recorded call
    recovers: int  # how often a client recovered it
    credits_used: int
    credits_needed: int
    created_at: int
    started_at: int | None
    settled_at: int | None
    queue_by: int | None
    watch_by: int | None


@dataclass(slots=True)
class JobLink:
    """A job as one message sees it."""

    job: JobRecord
    role: JobRole


@dataclass(slots=True)
class FileRecord:
    """A file of a work; the public id is ``<work_id>/<path>``."""

    work_id: str
    path: str
    account_id: str
    message_id: str | None
    job_id: str | None
    name: str
    content_type: str
    kind: FileKind
    size: int
    revision: str
    blob: str
    label: str | None
    created_at: int
    replaced: int = 0  # 1: a later file took its place, its maker still lists it; 2: nobody does

    @property
    def file_id(self) -> str:
        """What clients call it."""
        return f"{self.work_id}/{self.path}"


@dataclass(slots=True)
class EntryRecord:
    """A line of a message's log."""

    message_id: str
    seq: int
    type: str
    at: int
    work_id: str | None
    job_id: str | None
    body_json: str


@dataclass(slots=True)
class AttachmentRecord:
    """A file that came with a message. Without a blob it is still to be fetched, or was skipped."""

    message_id: str
    n: int
    name: str
    url: str | None
    content_type: str | None
    kind: str
    size: int
    revision: str
    blob: str | None


@dataclass(slots=True)
class WorkRecord:
    """A work: the chat a job runs in. ``home`` works hold the files of replies."""

    id: str
    account_id: str
    conversation_id: str
    title: str
    text: str
    question: str | None
    state_json: str
    home: int
    created_at: int
    updated_at: int
    deleted_at: int | None


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """A message in a list, its texts cut."""

    id: str
    text: str
    status: MessageStatus
    reason: str | None
    reply: str | None
    created_at: int


@dataclass(slots=True)
class ConversationRecord:
    """A conversation of a key: one turn at a time."""

    id: str
    account_id: str
    owner: str
    name: str
    home_work_id: str | None
    state_json: str
    turns: int  # turns begun
    works: int  # works opened: nought spares the hot path a query
    turn_message_id: str | None  # whose turn runs
    created_at: int


@dataclass(slots=True)
class Snapshot:
    """A message with all that a client sees of it, read in one transaction."""

    message: MessageRecord
    links: list[JobLink]
    files: list[FileRecord]
