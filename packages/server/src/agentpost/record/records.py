"""Stored records: a class for each table, a field for each column (`db/migrations`, `db.mapper`).

``*_json`` is JSON text, flags are 0 or 1.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from agentpost.credits.rules import Ceiling, Wallet
from agentpost.domain.file_names import FileKind
from agentpost.jobs.rules import JobKind, JobRole, JobState, Reason
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.uploads.rules import UploadStatus

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
    conversation: str | None  # its name, as the caller gave it
    text: str
    metadata_json: str | None
    traceparent: str | None
    webhook_endpoint_id: str | None
    idempotency_key: str | None
    fingerprint: str
    attachments: int  # how many attachment rows
    created_at: Time
    notes_json: str
    turn_wait_deadline: Time  # turns wait in this order; see `gives_up_at`
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
    status: MessageStatus = (
        MessageStatus.PROCESSING
    )  # derived (`messages.status_rules`), as the next three
    reason: Reason | None = None
    question: str | None = None
    final: int = 0
    jobs: int = 0  # how many jobs it started or joined
    reply_files: int = 0
    seq: int = 0  # last log entry
    version: int = 0  # every change
    state_version: int = 0  # changes of status, reply or a job's status: what a held read waits for
    queue_patience: Time | None = None  # sent to be queued: by how much longer than others it waits
    max_credits: Millionths | None = None  # what its work may use
    response_schema_json: str | None = None  # what its output has to fit
    answer_json: str | None = None  # {"message_id", "value"}: which typed question it answers
    answer_format_json: str | None = None  # what the question of the turn asks for
    output_json: str | None = None  # of the turn
    answered_by: str | None = None  # the message that answered what this one asks
    user_id: str | None = None  # who wrote it in the app
    turn_deaths: int = 0  # how many nodes died while they ran the turn
    turn_retried_at: Time | None = None  # when it began again under suspicion

    @property
    def turn_runs_since(self) -> int | None:
        """When the time that the turn may take began."""
        return self.turn_retried_at or self.turn_began_at

    @property
    def gives_up_at(self) -> int:
        """When a turn that still waits ends as busy."""
        return self.turn_wait_deadline + (self.queue_patience or 0)


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
    takeovers: int = 0  # deaths of what ran it, in a row without a newly recorded call
    recover_requests: int = 0  # how often a client recovered it
    credits_used: Millionths = 0
    credits_needed: Millionths = 0
    started_at: Time | None = None
    settled_at: Time | None = None
    queue_by: Time | None = None
    watch_by: Time | None = None
    ceiling: Ceiling | None = None  # queued: which one leaves too few credits; None: the balance
    waits_until: Time | None = None  # when that one leaves more
    answer_format_json: str | None = None  # what its question asks for
    output_json: str | None = None
    diverged_at: Time | None = None  # since when its code makes another call than the one recorded
    divergence: str | None = None  # which call that is


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


class WorkShown(NamedTuple):
    """A work as a turn is shown it, its text cut."""

    id: str
    title: str
    text: str
    question: str | None
    state_json: str
    has_files: int


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """A message in a list, its texts cut."""

    id: str
    text: str
    status: MessageStatus
    reason: str | None
    reply: str | None
    created_at: int
    key_id: str = ""
    user_id: str | None = None  # who wrote it in the app
    conversation: str | None = None  # its name


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
    works: int = 0  # nought until one is opened: that spares the hot path a query
    turn_message_id: str | None = None  # whose turn runs
    asking_message_id: str | None = None  # asked a typed question last, and nothing came since


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
    queue_position: int | None = None  # 1: its turn is next; None: it is not queued


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
    disabled_at: Time | None = None
    deleted_at: Time | None = None  # since when it is being deleted

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
    scopes: str | None = None  # as `accounts.scope_rules.stored` writes them; None: the default
    max_credits_per_day: Millionths | None = None
    networks: str | None = None  # as `accounts.network_rules.stored` writes them; None: everywhere
    old_digest: str | None = None  # of the secret before the last rotation, good until `old_until`
    old_hint: str | None = None
    old_until: Time | None = None


@dataclass(slots=True)
class LedgerRecord:
    """A move of credits (`credits.rules.LedgerKind`)."""

    id: str
    account_id: str
    kind: str
    amount: Millionths
    at: Time
    job_id: str | None = None
    call_n: int | None = None
    note: str = ""
    key_id: str | None = None  # of the message whose job it is


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
    """One request; bodies are there when they were small, without secrets. ``message_id`` is the
    message that the bodies are about; they go with it."""

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
    message_id: str | None = None


@dataclass(slots=True)
class OperatorActionRecord:
    """What an operator did (`audit.actions`); ``outcome``: begun, done or failed."""

    id: str
    at: Time
    who: str
    via: str
    origin: str
    action: str
    target: str
    detail_json: str
    outcome: str


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
