"""The records a caller reads, as the API's description names their fields.

Made by docs/client_models.py from the classes that the server answers with; change those.

All are frozen. They are made for servers newer than this client: unknown fields are kept (as
attributes), an unknown word such as a new ``status`` is plain text, and an optional field that is
null or missing has its default. ``raw`` is the JSON object as it came. Rely on ``Message.final``,
not on its ``status``, for "finished". ``File.url`` expires; `Client.download` renews it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentpost_client.enums import (
    DeliveryStatus,
    DisabledReason,
    EntryStatus,
    EntryType,
    EventName,
    FileKind,
    JobChange,
    JobKind,
    JobRole,
    JobStatus,
    MessageStatus,
    MessageWaitsFor,
    Outcome,
    Reason,
    RecoveryState,
    RunOutcome,
    ScheduleMissed,
    ScheduleStatus,
    UsageGroup,
    WorkStatus,
)
from agentpost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class AgentInfo(Record):
    """The agent that answers."""

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyInfo(Record):
    """The key that called."""

    id: str
    name: str = ""
    scopes: tuple[str, ...] = ()
    """What the key may do."""
    max_credits_per_day: float | None = None
    """What its work may use in a UTC day; null: no limit but the credits."""


@dataclass(frozen=True, kw_only=True)
class AccountLimits(Record):
    """How much this account can do at once."""

    running_jobs: int = 0
    requests_per_minute: int = 0


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """The account of the key, and what is left of its credits."""

    user_id: str
    email: str = ""
    name: str = ""
    plan: str = ""
    credits: float = 0
    """Available credits."""
    agent: AgentInfo = AgentInfo()
    key: KeyInfo | None = None
    limits: AccountLimits = AccountLimits()


@dataclass(frozen=True, kw_only=True)
class AccountEvent(Record):
    """An event as a reader of the account's events gets it: the body of a webhook, and its id."""

    type: str = ""
    """The name of the event."""
    timestamp: datetime | None = None
    """When it happened."""
    data: Any = None
    test: bool = False
    """Only in a sample that was asked for: nothing in it exists."""
    id: str
    """`evt_<id>`; webhooks have it as `webhook-id`."""


@dataclass(frozen=True, kw_only=True)
class AccountEventList(Record):
    """A page of an account's events, oldest first."""

    data: tuple[AccountEvent, ...] = ()
    has_more: bool = False
    """More events are ready."""
    cursor: str
    cursor_expired: bool = False


@dataclass(frozen=True, kw_only=True)
class AnswerFormat(Record):
    """An answer is one of `choices`, or JSON that fits `schema`."""

    choices: tuple[str, ...] = ()
    schema: dict[str, Any] = field(default_factory=dict)
    """A JSON Schema (2020-12)."""


@dataclass(frozen=True, kw_only=True)
class Attempt(Record):
    """One HTTP request of a delivery."""

    at: datetime | None = None
    """When it ended."""
    status_code: int | None = None
    """null when no answer came."""
    error: str | None = None
    """Why it failed; null when the receiver took it."""
    response: str = ""
    """The beginning of the receiver's answer."""
    ms: int = 0
    """How long it took."""


@dataclass(frozen=True, kw_only=True)
class DeletedMessage(Record):
    """A deleted message."""

    id: str
    deleted: bool = False
    """Always true."""


@dataclass(frozen=True, kw_only=True)
class DeletedSchedule(Record):
    """A removed schedule."""

    id: str
    deleted: bool = False
    """Always true."""


@dataclass(frozen=True, kw_only=True)
class DeletedWebhookEndpoint(Record):
    """A removed endpoint."""

    id: str
    deleted: bool = False
    """Always true."""


@dataclass(frozen=True, kw_only=True)
class DeletedWork(Record):
    """A deleted work."""

    work_id: str
    deleted: bool = False
    """Always true."""


@dataclass(frozen=True, kw_only=True)
class Delivery(Record):
    """One event for one endpoint."""

    id: str
    """`evt_<id>`, the same for all endpoints and every attempt."""
    event: str
    status: DeliveryStatus | str
    attempts: int = 0
    last_status_code: int | None = None
    last_error: str | None = None
    last_response: str | None = None
    """The beginning of the receiver's answer."""
    last_ms: int | None = None
    """How long the last attempt took."""
    created_at: datetime | None = None
    delivered_at: datetime | None = None
    next_attempt_at: datetime | None = None
    message_id: str | None = None
    """null for a test event."""


@dataclass(frozen=True, kw_only=True)
class DeliveryList(Record):
    """A page of deliveries, newest first; continue with `before` = the last `id`."""

    data: tuple[LoggedDelivery, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, kw_only=True)
class Entry(Record):
    """A line of the log; which fields are there depends on `type`."""

    seq: int
    type: EntryType | str
    at: datetime | None = None
    message_id: str = ""
    work_id: str | None = None
    job_id: str | None = None
    title: str | None = None
    state: JobChange | str | None = None
    text: str | None = None
    reason: str | None = None
    outcome: Outcome | str | None = None
    step: str | None = None
    status: EntryStatus | str | None = None
    file_names: tuple[str, ...] = ()
    delivered_sync: bool = False
    files: tuple[File, ...] = ()
    cursor: str | None = None
    """Set by `Client.follow`: with it and ``seq`` a later call goes on from here."""


@dataclass(frozen=True, kw_only=True)
class EntryPage(Record):
    """A page of the log, oldest first."""

    data: tuple[Entry, ...] = ()
    has_more: bool = False
    """More entries are ready."""
    done: bool = False
    """The message has nothing more to report."""
    cursor: str
    cursor_expired: bool = False


@dataclass(frozen=True, kw_only=True)
class ErrorBody(Record):
    """Every error answer. Branch on `error`; `message` is for people and may change."""

    error: str
    message: str = ""
    request_id: str = ""
    docs: str = ""
    """Where this code is explained."""
    problems: tuple[Problem, ...] = ()
    """Only with invalid_request: up to ten."""
    cursor: str | None = None
    """Only with poll_in_progress: the cursor to continue from."""


@dataclass(frozen=True, kw_only=True)
class File(Record):
    """One file."""

    file_id: str
    """`<work_id>/<path>`; contains slashes."""
    name: str
    content_type: str = ""
    kind: FileKind | str = ""
    size: int = 0
    """Bytes."""
    revision: str = ""
    """Quoted entity tag."""
    work_id: str = ""
    label: str | None = None
    url: str
    """Signed download link; expires; needs no API key."""


@dataclass(frozen=True, kw_only=True)
class Job(Record):
    """A piece of work a message started, joined or had refused."""

    message_id: str | None = None
    """Only in events."""
    job_id: str
    kind: JobKind | str = ""
    role: JobRole | str = ""
    work_id: str = ""
    title: str = ""
    status: JobStatus | str
    reason: Reason | str | None = None
    final: bool = False
    queued: bool = False
    resume_by: datetime | None = None
    link: str = ""
    started_at: datetime | None = None
    settled_at: datetime | None = None
    files: tuple[File, ...] = ()
    text: str | None = None
    """Its result, or why it failed; null until it has ended."""
    output: Any = None
    """Only with `response_schema`: fits it; null until the job has completed."""


@dataclass(frozen=True, kw_only=True)
class JobEventData(Record):
    """A job, with the metadata of its message."""

    message_id: str = ""
    """The message that started it."""
    job_id: str
    kind: JobKind | str = ""
    role: JobRole | str = ""
    work_id: str = ""
    title: str = ""
    status: JobStatus | str
    reason: Reason | str | None = None
    final: bool = False
    queued: bool = False
    resume_by: datetime | None = None
    link: str = ""
    started_at: datetime | None = None
    settled_at: datetime | None = None
    files: tuple[File, ...] = ()
    text: str | None = None
    """Its result, or why it failed; null until it has ended."""
    output: Any = None
    """Only with `response_schema`: fits it; null until the job has completed."""
    metadata: dict[str, str] = field(default_factory=dict)
    """Of that message."""
    traceparent: str | None = None
    """Of that message."""


@dataclass(frozen=True, kw_only=True)
class JobEvent(Record):
    """A job changed; sent once, for the message that started it."""

    type: EventName | str
    """The name of the event."""
    timestamp: datetime | None = None
    """When it happened."""
    data: JobEventData
    test: bool = False
    """Only in a sample that was asked for: nothing in it exists."""


@dataclass(frozen=True, kw_only=True)
class LoggedDelivery(Record):
    """A delivery with its attempts."""

    id: str
    """`evt_<id>`, the same for all endpoints and every attempt."""
    event: str
    status: DeliveryStatus | str
    attempts: int = 0
    last_status_code: int | None = None
    last_error: str | None = None
    last_response: str | None = None
    """The beginning of the receiver's answer."""
    last_ms: int | None = None
    """How long the last attempt took."""
    created_at: datetime | None = None
    delivered_at: datetime | None = None
    next_attempt_at: datetime | None = None
    message_id: str | None = None
    """null for a test event."""
    attempt_log: tuple[Attempt, ...] = ()
    """The newest 25 attempts, oldest first; also those from before it was sent again, which
    `attempts` does not count."""


@dataclass(frozen=True, kw_only=True)
class LoggedRequest(Record):
    """A request to the API, without its bodies."""

    id: str
    """`req_<id>`; its answer had it as `Request-Id`."""
    created_at: datetime | None = None
    """When it came."""
    key_id: str | None = None
    key_name: str | None = None
    """null for a key that is not there."""
    method: str
    path: str
    """With its query; what may be secret is left out."""
    status: int
    """499: the client hung up before the answer was ready."""
    error: str | None = None
    """The code of the error, null for a success."""
    ms: int = 0
    """How long it took."""
    request_bytes: int = 0
    """The length of its body."""
    response_bytes: int = 0
    """The length of the answer's body; 0 when streamed."""
    traceparent: str | None = None
    """The W3C trace context it came with."""


@dataclass(frozen=True, kw_only=True)
class LoggedRequestDetails(Record):
    """A request to the API with its bodies."""

    id: str
    """`req_<id>`; its answer had it as `Request-Id`."""
    created_at: datetime | None = None
    """When it came."""
    key_id: str | None = None
    key_name: str | None = None
    """null for a key that is not there."""
    method: str
    path: str
    """With its query; what may be secret is left out."""
    status: int
    """499: the client hung up before the answer was ready."""
    error: str | None = None
    """The code of the error, null for a success."""
    ms: int = 0
    """How long it took."""
    request_bytes: int = 0
    """The length of its body."""
    response_bytes: int = 0
    """The length of the answer's body; 0 when streamed."""
    traceparent: str | None = None
    """The W3C trace context it came with."""
    request_body: str | None = None
    """Without secrets, its first 32,768 characters; null when there was none or it is not kept."""
    response_body: str | None = None
    """Without secrets, its first 32,768 characters; null when there was none or it is not kept."""


@dataclass(frozen=True, kw_only=True)
class LoggedRequestList(Record):
    """A page of requests: newest first, or with a `cursor` in the order in which they ended."""

    data: tuple[LoggedRequest, ...] = ()
    has_more: bool = False
    cursor: str
    """Give it to wait for the requests that end from now on."""


@dataclass(frozen=True, kw_only=True)
class Message(Record):
    """A message with its reply, jobs and files."""

    id: str
    status: MessageStatus | str
    reason: Reason | str | None = None
    question: str | None = None
    final: bool
    """Nothing about the message will change any more."""
    reply: str | None = None
    """The first answer; the sentence of the result is the `text` of a job."""
    jobs: tuple[Job, ...] = ()
    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()
    credits_used: float = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    """Grows with every change; also the ETag."""
    conversation: str | None = None
    """The name that the request gave; null when it gave none."""
    metadata: dict[str, str] = field(default_factory=dict)
    traceparent: str | None = None
    """The W3C trace context the message came with."""
    retry_after_seconds: int | None = None
    resume: str | None = None
    resume_by: datetime | None = None
    running: tuple[RunningJob, ...] = ()
    queue_position: int | None = None
    """Only while a message sent with `busy: queue` waits for its turn; 1: it is next."""
    max_credits: float | None = None
    """As given with the message or a recover."""
    waits_for: MessageWaitsFor | str | None = None
    """Instead of `resume`, when parked work may use no more credits: a recover with a higher
    `max_credits` continues it, or the next day (UTC) of its key does."""
    answer_format: AnswerFormat | None = None
    """Only while the `question` asks for an answer of a kind."""
    output: Any = None
    """Only with `response_schema`: fits it; null until it is there."""

    @property
    def is_agent_busy(self) -> bool:
        """Nothing ran because of another message; the same request may be sent again."""
        return self.status == "failed" and self.reason == "agent_busy"

    @property
    def text(self) -> str | None:
        """The text to show a person: the open question, else the results of the jobs that have
        ended, else the reply."""
        results = [job.text for job in self.jobs if job.text]
        return self.question or "\n\n".join(results) or self.reply


@dataclass(frozen=True, kw_only=True)
class MessageEvent(Record):
    """A message has reached a status other than `processing`, or has become final."""

    type: EventName | str
    """The name of the event."""
    timestamp: datetime | None = None
    """When it happened."""
    data: Message
    """The message, as a read gives it."""
    test: bool = False
    """Only in a sample that was asked for: nothing in it exists."""


@dataclass(frozen=True, kw_only=True)
class MessageItem(Record):
    """A message in a list, with what was sent."""

    id: str
    status: MessageStatus | str
    reason: Reason | str | None = None
    question: str | None = None
    final: bool
    """Nothing about the message will change any more."""
    reply: str | None = None
    """The first answer; the sentence of the result is the `text` of a job."""
    jobs: tuple[Job, ...] = ()
    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()
    credits_used: float = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    """Grows with every change; also the ETag."""
    conversation: str | None = None
    """The name that the request gave; null when it gave none."""
    metadata: dict[str, str] = field(default_factory=dict)
    traceparent: str | None = None
    """The W3C trace context the message came with."""
    retry_after_seconds: int | None = None
    resume: str | None = None
    resume_by: datetime | None = None
    running: tuple[RunningJob, ...] = ()
    queue_position: int | None = None
    """Only while a message sent with `busy: queue` waits for its turn; 1: it is next."""
    max_credits: float | None = None
    """As given with the message or a recover."""
    waits_for: MessageWaitsFor | str | None = None
    """Instead of `resume`, when parked work may use no more credits: a recover with a higher
    `max_credits` continues it, or the next day (UTC) of its key does."""
    answer_format: AnswerFormat | None = None
    """Only while the `question` asks for an answer of a kind."""
    output: Any = None
    """Only with `response_schema`: fits it; null until it is there."""
    message: str = ""
    """The text as it was sent."""


@dataclass(frozen=True, kw_only=True)
class MessageList(Record):
    """Messages of a key, newest first; continue with `before` = the last `id`."""

    data: tuple[MessageItem, ...] = ()
    has_more: bool = False
    next_before: str | None = None
    """Only when the page ended early: continue with `before` = this."""


@dataclass(frozen=True, kw_only=True)
class NewWebhookEndpoint(Record):
    """An endpoint just made, with its secret: this is the only time it is shown."""

    id: str
    url: str
    events: tuple[str, ...] = ()
    description: str | None = None
    created_at: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: DisabledReason | str | None = None
    failing_since: datetime | None = None
    secret: str


@dataclass(frozen=True, kw_only=True)
class Problem(Record):
    """One field of the request and what is wrong with it."""

    field: str | None = None
    """Dotted path such as files.0.url; null: the whole body."""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class RecoveredWork(Record):
    """A work of the message."""

    work_id: str
    state: RecoveryState | str
    """recovering: watched again from now on; watching: was still watched; exhausted: cannot be
    watched again; settled: ended, nothing to wait for."""


@dataclass(frozen=True, kw_only=True)
class Recovery(Record):
    """The answer to a recover call."""

    id: str
    """The message's id."""
    work: tuple[RecoveredWork, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Replay(Record):
    """How many deliveries are sent again."""

    webhook_endpoint_id: str = ""
    deliveries: int = 0


@dataclass(frozen=True, kw_only=True)
class RotatedSecret(Record):
    """The new secret: this is the only time it is shown."""

    id: str
    secret: str
    old_secret_until: datetime | None = None
    """Until then the old secret signs as well."""


@dataclass(frozen=True, kw_only=True)
class Run(Record):
    """The last run of a schedule."""

    planned_at: datetime | None = None
    at: datetime | None = None
    """When it was sent, refused or found to be missed."""
    outcome: RunOutcome | str = ""
    message_id: str | None = None
    error: str | None = None
    """Why it was refused."""


@dataclass(frozen=True, kw_only=True)
class RunningJob(Record):
    """A job that held one of the slots when a start was refused."""

    job_id: str
    message_id: str = ""
    work_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Schedule(Record):
    """A message that is sent at given times."""

    id: str
    status: ScheduleStatus | str = ""
    cron: str | None = None
    timezone: str = ""
    missed: ScheduleMissed | str = ""
    message: dict[str, Any] = field(default_factory=dict)
    """The fields of the message, as given."""
    created_at: datetime | None = None
    next_run_at: datetime | None = None
    last_run: Run | None = None
    missed_runs: int = 0
    """How many runs were missed so far, and not made up for."""


@dataclass(frozen=True, kw_only=True)
class ScheduleList(Record):
    """A page of schedules, newest first; continue with `before` = the last `id`."""

    data: tuple[Schedule, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, kw_only=True)
class TestEventData(Record):
    """The tested endpoint."""

    webhook_endpoint_id: str


@dataclass(frozen=True, kw_only=True)
class TestEvent(Record):
    """Sent on request, to see whether an endpoint works."""

    type: str
    """The name of the event."""
    timestamp: datetime | None = None
    """When it happened."""
    data: TestEventData
    test: bool = False
    """Only in a sample that was asked for: nothing in it exists."""


@dataclass(frozen=True, kw_only=True)
class Upload(Record):
    """A finished upload: name its id in a message's `upload_ids`."""

    upload_id: str
    status: str
    filename: str = ""
    content_type: str = ""
    size: int = 0
    """Bytes that arrived."""


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Record):
    """Where to post the file, and with which form fields."""

    upload_id: str
    filename: str = ""
    """What the agent will see: a plain name made of the one sent."""
    url: str
    """Post multipart/form-data here, the file last as `file`."""
    fields: dict[str, str]
    """Every one goes into the form, unchanged."""
    expires_at: datetime | None = None
    """Until then the form can be posted."""
    max_bytes: int = 0
    """The declared size; a larger file is refused."""


@dataclass(frozen=True, kw_only=True)
class Usage(Record):
    """The use of a day, a key or a conversation."""

    group: UsageGroup | str = ""
    id: str
    """The day in UTC such as `2026-01-31`, the id of the key or of the conversation; `app` for
    messages from the web app, `deleted` for credits whose message is deleted."""
    name: str | None = None
    """The name of the key or conversation; null for a day, without one, and for the conversation
    of another key unless the key has the scope `read_all`."""
    messages: int = 0
    jobs: int = 0
    """Jobs that these messages started; refused starts do not count."""
    credits: float = 0
    """Credits charged in this time."""


@dataclass(frozen=True, kw_only=True)
class UsageList(Record):
    """A page of usage, by `id`, the greatest first; continue with `before` = the last `id`."""

    data: tuple[Usage, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, kw_only=True)
class WebhookEndpoint(Record):
    """A webhook endpoint."""

    id: str
    url: str
    events: tuple[str, ...] = ()
    description: str | None = None
    created_at: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: DisabledReason | str | None = None
    failing_since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class WebhookEndpointDetails(Record):
    """An endpoint with its 20 newest deliveries."""

    id: str
    url: str
    events: tuple[str, ...] = ()
    description: str | None = None
    created_at: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: DisabledReason | str | None = None
    failing_since: datetime | None = None
    recent_deliveries: tuple[Delivery, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WebhookEndpointList(Record):
    """The account's endpoints, up to 10."""

    data: tuple[WebhookEndpoint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Work(Record):
    """A work with one page of its text and its newest files."""

    work_id: str
    title: str = ""
    status: WorkStatus | str = ""
    text: str = ""
    """Latest result, paged by 20,000 characters."""
    next_from_char: int | None = None
    link: str = ""
    files: tuple[File, ...] = ()
    """The newest, up to 8."""


@dataclass(frozen=True, kw_only=True)
class WorkItem(Record):
    """A line of the work list."""

    work_id: str
    title: str = ""
    preview: str = ""
    link: str = ""
    status: WorkStatus | str = ""
    updated_at: datetime | None = None
    """When its latest result came, else when it was opened."""


@dataclass(frozen=True, kw_only=True)
class WorkList(Record):
    """Works, newest first."""

    data: tuple[WorkItem, ...] = ()
    has_more: bool = False
