"""Stored records: a class for each table, a field for each column (`db.tables`, `db.mapper`).

``*_json`` is JSON text, flags are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from agentpost.domain.credits import Wallet
from agentpost.domain.endpoints import DeliveryStatus, DisabledReason, EndpointState
from agentpost.domain.filenames import FileKind
from agentpost.domain.job import JobKind, JobRole, JobState, Reason
from agentpost.domain.message import MessageStatus, TurnState
from agentpost.domain.uploads import UploadStatus

Time = Annotated[int, 64]  # microseconds since 1970 UTC; 64: the bits of the column
Millionths = Annotated[int, 64]  # of a credit
Bytes = Annotated[int, 64]


@dataclass(slots=True)
class MessageRecord:
    """A message with its turn. The fields from ``notes_json`` on change after the insert."""

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
    created_at: Time
    notes_json: str
    turn_wait_deadline: Time  # a waiting turn gives up then
    reply_deadline: Time  # the POST call answers by then
    updated_at: Time  # when the turn ended
    expires_at: Time
    turn_state: TurnState = TurnState.WAITING
    turn_no: int | None = None  # place in the conversation, given when the turn begins
    turn_node: str | None = None
    turn_epoch: int = 0
    turn_began_at: Time | None = None
    turn_inputs_json: str | None = None
    asked: str | None = None  # the question of the turn
    reply: str | None = None
    status: MessageStatus = MessageStatus.PROCESSING  # derived (`domain.status`), as the next three
    reason: Reason | None = None
    question: str | None = None
    final: int = 0
    jobs: int = 0  # how many jobs it started or joined
    reply_files: int = 0
    seq: int = 0  # last log entry
    version: int = 0  # every change
    state_version: int = 0  # changes of status, reply or a job's status: what a held read waits for


@dataclass(slots=True)
class JobRecord:
    """A job. The fields from ``state`` on change after the insert."""

    id: str
    account_id: str
    conversation_id: str
    message_id: str
    work_id: str
    kind: JobKind
    title: str
    fn: str
    args_json: str
    created_at: Time
    running_json: str | None = None  # for a refusal: what ran instead
    state: JobState = JobState.RUNNING
    reason: Reason | None = None
    question: str | None = None
    result: str | None = None
    step: str | None = None
    node: str | None = None  # with the epoch: the runner that owns it
    epoch: int = 0
    calls: int = 0  # recorded calls
    calls_at_takeover: int = 0  # recorded calls when it was last taken over
    takeovers: int = 0  # take-overs in a row without a newly recorded call
    recover_requests: int = 0  # how often a client recovered it
    credits_used: Millionths = 0
    credits_needed: Millionths = 0
    started_at: Time | None = None
    settled_at: Time | None = None
    queue_by: Time | None = None
    watch_by: Time | None = None


@dataclass(slots=True)
class FileRecord:
    """A file of a work; the public id is ``<work_id>/<path>``."""

    work_id: str
    path: str
    account_id: str
    name: str
    content_type: str
    kind: FileKind
    size: Bytes
    revision: str
    blob: str
    created_at: Time = 0
    message_id: str | None = None
    job_id: str | None = None
    label: str | None = None
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
    at: Time
    body_json: str
    work_id: str | None = None
    job_id: str | None = None


@dataclass(slots=True)
class AttachmentRecord:
    """A file that came with a message. Without a blob it is still to be fetched, or was skipped."""

    message_id: str
    n: int
    name: str = ""
    url: str | None = None
    content_type: str | None = None
    kind: str = "other"
    size: Bytes = 0
    revision: str = ""
    blob: str | None = None


@dataclass(slots=True)
class WorkRecord:
    """A work: the chat a job runs in; a ``home`` work holds the files of replies."""

    id: str
    account_id: str
    conversation_id: str
    title: str
    created_at: Time
    updated_at: Time
    text: str = ""
    question: str | None = None
    state_json: str = "{}"
    home: int = 0
    deleted_at: Time | None = None


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
    created_at: Time
    home_work_id: str | None = None
    state_json: str = "{}"
    turns: int = 0  # turns begun
    works: int = 0  # works opened: nought spares the hot path a query
    turn_message_id: str | None = None  # whose turn runs


@dataclass(slots=True)
class JobLink:
    """A job as one message sees it."""

    job: JobRecord
    role: JobRole


@dataclass(slots=True)
class Snapshot:
    """A message with all that a client sees of it, read in one transaction."""

    message: MessageRecord
    links: list[JobLink]
    files: list[FileRecord]


@dataclass(slots=True)
class AccountRecord:
    """An account."""

    id: str
    email: str
    name: str
    plan: str
    created_at: Time
    balance: Millionths = 0
    held: Millionths = 0
    hosting_fees_due: int = 0
    limits_json: str = "{}"

    @property
    def wallet(self) -> Wallet:
        """Its credits."""
        return Wallet(self.balance, self.held)


@dataclass(slots=True)
class KeyRecord:
    """An API key; only its SHA-256 is stored."""

    id: str
    account_id: str
    name: str
    digest: str
    hint: str
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    last_used_at: Time | None = None


@dataclass(slots=True)
class LedgerRecord:
    """A move of credits (`domain.credits.LedgerKind`)."""

    id: str
    account_id: str
    kind: str
    amount: Millionths
    at: Time
    job_id: str | None = None
    call_n: int | None = None
    note: str = ""


@dataclass(slots=True)
class SessionRecord:
    """A browser that is signed in; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    created_at: Time
    expires_at: Time
    last_used_at: Time
    browser: str | None = None


@dataclass(slots=True)
class MailRecord:
    """One mail; ``next_attempt_at`` is when it is to be sent, None once it is or never will be."""

    id: str
    account_id: str
    recipient: str
    subject: str
    text: str
    created_at: Time
    attempts: int = 0
    last_error: str | None = None
    sent_at: Time | None = None
    next_attempt_at: Time | None = None


@dataclass(slots=True)
class RequestRecord:
    """One request; bodies are there when they were small, without secrets."""

    id: str
    at: Time
    account_id: str | None  # None: no known key
    key_id: str | None
    method: str
    path: str
    status: int
    error: str | None
    ms: int
    request_bytes: Bytes
    response_bytes: Bytes
    request_body: str | None = None
    response_body: str | None = None
    traceparent: str | None = None

    @property
    def size(self) -> int:
        """About how many bytes the row takes: 300 and its texts."""
        texts = (self.path, self.request_body, self.response_body, self.traceparent)
        return 300 + sum([len(t) if t.isascii() else len(t.encode()) for t in texts if t])


@dataclass(slots=True)
class UploadRecord:
    """An upload. What is None is known once it is ready."""

    id: str
    account_id: str
    filename: str
    content_type: str  # what the client declared
    size: Bytes  # the declared size and, from ready on, the real one
    created_at: Time
    post_by: Time
    keep_by: Time
    status: UploadStatus = UploadStatus.PENDING
    blob: str = ""
    message_id: str | None = None
    copies: int = 0  # private copies that calls of complete made
    swept: int = 0  # nothing but the row itself is left to be cleaned up
    kind: str | None = None
    revision: str | None = None
    sniffed_type: str | None = None  # what the bytes are


@dataclass(slots=True)
class EndpointRecord:
    """A webhook endpoint; the secrets never show in a log."""

    id: str
    account_id: str
    url: str
    events_json: str
    created_at: Time
    description: str | None = None
    secret: str = field(default="", repr=False)
    old_secret: str | None = field(default=None, repr=False)
    old_secret_until: Time | None = None
    disabled_at: Time | None = None
    disabled_reason: DisabledReason | None = None
    failing_since: Time | None = None

    @property
    def state(self) -> EndpointState:
        """The part that the rules of `domain.endpoints` are about."""
        return EndpointState(self.disabled_at, self.disabled_reason, self.failing_since)

    def secrets(self, now: int) -> tuple[str, ...]:
        """What deliveries are signed with now: after a rotation with a grace time, both."""
        if self.old_secret is None or now >= (self.old_secret_until or 0):
            return (self.secret,)
        return (self.secret, self.old_secret)


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One event for one endpoint, with the event's name and message."""

    event_id: str
    endpoint_id: str
    status: DeliveryStatus
    attempts: int
    last_status_code: int | None
    last_error: str | None
    last_response: str | None
    last_ms: int | None
    created_at: int
    delivered_at: int | None
    next_attempt_at: int | None
    event: str
    message_id: str | None
    attempt_log: Sequence[AttemptRecord] = ()  # oldest first; read where deliveries are listed


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt of a delivery, as it is logged."""

    event_id: str
    endpoint_id: str
    n: int  # from 1; counts attempts made before a redelivery, too
    at: Time  # when it ended
    status_code: int | None
    error: str | None  # None: the receiver took it
    response: str  # the beginning of the answer's body
    ms: int
