"""The records a caller reads, as the API's description names their fields.

Made by docs/client_models.py from the classes that the server answers with; change those.

All are frozen. They are made for servers newer than this client: unknown fields are kept (as
attributes), words such as ``status`` are plain strings, and an optional field that is null or
missing has its default. ``raw`` is the JSON object as it came. Rely on ``Message.final``, not on
its ``status``, for "finished". ``File.url`` expires; `Client.download` renews it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from agentpost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class File(Record):
    """A file the agent made."""

    file_id: str
    """`<work_id>/<path>`; contains slashes."""
    name: str
    content_type: str = ""
    kind: str = ""
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
    kind: str = ""
    role: str = ""
    work_id: str = ""
    title: str = ""
    status: str
    reason: str | None = None
    final: bool = False
    queued: bool = False
    resume_by: datetime | None = None
    link: str = ""
    started_at: datetime | None = None
    settled_at: datetime | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunningJob(Record):
    """A job that held one of the slots when a start was refused."""

    job_id: str
    message_id: str = ""
    work_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Message(Record):
    """A message with its reply, jobs and files."""

    id: str
    status: str
    reason: str | None = None
    question: str | None = None
    final: bool
    """Nothing about the message will change any more."""
    reply: str | None = None
    jobs: tuple[Job, ...] = ()
    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()
    credits_used: float = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    """Grows with every change; also the ETag."""
    metadata: dict[str, str] = field(default_factory=dict)
    traceparent: str | None = None
    """The W3C trace context the message came with."""
    retry_after_seconds: int | None = None
    resume: str | None = None
    resume_by: datetime | None = None
    running: tuple[RunningJob, ...] = ()

    @property
    def is_agent_busy(self) -> bool:
        """Nothing ran because of another message; the same request may be sent again."""
        return self.status == "failed" and self.reason == "agent_busy"


@dataclass(frozen=True, kw_only=True)
class Entry(Record):
    """A line of the log; which fields are there depends on `type`."""

    seq: int
    type: str
    at: datetime | None = None
    message_id: str = ""
    work_id: str | None = None
    job_id: str | None = None
    title: str | None = None
    state: str | None = None
    text: str | None = None
    reason: str | None = None
    outcome: str | None = None
    step: str | None = None
    status: str | None = None
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
class Work(Record):
    """A work with one page of its text and its newest files."""

    work_id: str
    title: str = ""
    status: str = ""
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
    status: str = ""
    updated_at: datetime | None = None
    """When its latest result came, else when it was opened."""


@dataclass(frozen=True, kw_only=True)
class WorkList(Record):
    """Works, newest first."""

    data: tuple[WorkItem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Record):
    """Where to post the file, and with which form fields."""

    upload_id: str
    url: str
    """Post multipart/form-data here, the file last as `file`."""
    fields: dict[str, str]
    """Every one goes into the form, unchanged."""
    expires_at: datetime | None = None
    """Until then the form can be posted."""
    max_bytes: int = 0
    """The declared size; a larger file is refused."""


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
class AgentInfo(Record):
    """The agent that answers."""

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyInfo(Record):
    """The key that called."""

    id: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class AccountLimits(Record):
    """How much this account may do at once."""

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
class Problem(Record):
    """One field of the request and what is wrong with it."""

    field: str | None = None
    """Dotted path such as files.0.url; null: the whole body."""
    problem: str = ""


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
