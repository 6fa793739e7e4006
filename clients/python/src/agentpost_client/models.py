"""The records a caller reads, as the spec's "Resources and their fields" names them.

All are frozen. They are made for servers newer than this SDK: unknown fields are kept (as
attributes), words such as ``status`` are plain strings, and an optional field that is null or
missing has its default. ``raw`` is the JSON object as it came.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from agentpost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class File(Record):
    """A produced file; ``url`` needs no key and expires, `Client.download` renews it."""

    file_id: str
    name: str
    url: str
    content_type: str = "application/octet-stream"
    kind: str = "other"
    size: int = 0
    revision: str = ""
    work_id: str | None = None
    label: str | None = None


@dataclass(frozen=True, kw_only=True)
class Job(Record):
    """A piece of work a message started, joined or had refused."""

    job_id: str
    status: str
    kind: str = "execution"
    role: str = "execution"
    work_id: str | None = None
    title: str = ""
    reason: str | None = None
    final: bool = False
    queued: bool = False
    resume_by: datetime | None = None
    link: str | None = None
    started_at: datetime | None = None
    settled_at: datetime | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunningJob(Record):
    """Work that keeps new work from starting (``reason: too_many_running``)."""

    job_id: str
    message_id: str | None = None
    work_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Message(Record):
    """A message and all that came of it. Rely on ``final``, not on ``status``, for "finished"."""

    id: str
    status: str
    final: bool
    reason: str | None = None
    question: str | None = None
    reply: str | None = None
    jobs: tuple[Job, ...] = ()
    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()
    credits_used: float = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    resume: str | None = None
    resume_by: datetime | None = None
    retry_after_seconds: float | None = None
    running: tuple[RunningJob, ...] = ()
    version: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def is_agent_busy(self) -> bool:
        """Nothing ran because of another message; the same request may be sent again."""
        return self.status == "failed" and self.reason == "agent_busy"


@dataclass(frozen=True, kw_only=True)
class Entry(Record):
    """A line of a message's event log; which fields are set depends on ``type``.

    ``cursor`` is set by `Client.follow`: with it and ``seq`` a later call goes on from here.
    """

    seq: int
    type: str
    at: datetime | None = None
    work_id: str | None = None
    message_id: str | None = None
    job_id: str | None = None
    text: str | None = None
    reason: str | None = None
    title: str | None = None
    step: str | None = None
    status: str | None = None
    outcome: str | None = None
    state: str | None = None
    file_names: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    delivered_sync: bool = False
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class EntryPage(Record):
    """One answer of the event log; `Client.follow` walks through the pages."""

    cursor: str
    data: tuple[Entry, ...] = ()
    has_more: bool = False
    done: bool = False
    cursor_expired: bool = False


@dataclass(frozen=True, kw_only=True)
class Work(Record):
    """A chat in which work runs; ``text`` is one page of the latest result."""

    work_id: str
    title: str = ""
    status: str = ""
    text: str = ""
    next_from_char: int | None = None
    link: str | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WorkItem(Record):
    """A line of the work list."""

    work_id: str
    title: str = ""
    preview: str = ""
    link: str | None = None
    status: str = ""
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class WorkList(Record):
    """The account's work, newest first."""

    data: tuple[WorkItem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UploadTicket(Record):
    """Where an upload is posted to, and the form fields that go before the file."""

    upload_id: str
    url: str
    fields: dict[str, str]
    expires_at: datetime | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Upload(Record):
    """A file that is ready to be named in ``upload_ids`` of one message."""

    upload_id: str
    status: str
    filename: str = ""
    content_type: str = "application/octet-stream"
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class AgentInfo(Record):
    """The agent behind the server."""

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyInfo(Record):
    """The key that asks, by its id and nickname; the secret is never sent back."""

    id: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class AccountLimits(Record):
    """What the account may do at once and per minute."""

    running_jobs: int | None = None
    requests_per_minute: int | None = None


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """Who the key belongs to; ``credits`` is what can still be spent."""

    user_id: str
    email: str = ""
    name: str = ""
    plan: str = ""
    credits: float = 0
    agent: AgentInfo = AgentInfo()
    key: KeyInfo | None = None
    limits: AccountLimits = AccountLimits()
