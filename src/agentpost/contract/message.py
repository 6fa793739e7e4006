"""Message, Job and File, and the body that sends a message (spec: Message; Job; File).

Poll, create response, event log, webhook and web pages all come from here, so they cannot disagree.
Bodies of requests are pydantic's: its sentences are the ``problems`` that callers read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from msgspec import UNSET
from pydantic import BaseModel, ConfigDict, Field

from agentpost.contract.shape import Links, Maybe, Shape, Time, about, loads
from agentpost.domain import limits
from agentpost.domain.credits import to_credits
from agentpost.domain.filenames import FileKind
from agentpost.domain.job import VIEWS, JobKind, JobRole, JobState, JobStatus, Reason
from agentpost.domain.limits import AGENT_BUSY_RETRY_SECONDS
from agentpost.domain.message import MessageStatus
from agentpost.domain.records import FileRecord, JobLink, JobRecord, MessageRecord, Snapshot
from agentpost.domain.times import iso, iso_or_none


class Request(BaseModel):
    """Bodies are strict about types; unknown fields are ignored; null counts as absent."""

    model_config = ConfigDict(strict=True, extra="ignore")


class InlineFileIn(Request):
    """A file in the body of a message: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the service fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


MetadataValue = Annotated[str, Field(max_length=limits.METADATA_VALUE_CHARACTERS_MAX)]
MetadataKey = Annotated[str, Field(max_length=limits.METADATA_KEY_CHARACTERS_MAX)]


class MessageIn(Request):
    """At least one of `message`, `files` and `upload_ids` is needed."""

    message: str | None = Field(
        default=None,
        description="What to do, in plain language; up to 20,000 characters, trimmed.",
        examples=["Chart revenue by month from the attached CSV"],
    )
    files: list[InlineFileIn] | None = Field(
        default=None,
        description="Up to 5 are taken, 10 MB each, 25 MB together; the rest become notes.",
    )
    upload_ids: list[str] | None = Field(
        default=None, description="Finished uploads; up to 10, 1 GB together."
    )
    webhook_endpoint_id: str | None = Field(
        default=None, description="The endpoint that alone receives this message's events."
    )
    conversation: Annotated[str, Field(max_length=limits.CONVERSATION_CHARACTERS_MAX)] | None = (
        Field(
            default=None,
            description="Names the conversation, e.g. your customer's id; each has its own past.",
        )
    )
    metadata: (
        Annotated[dict[MetadataKey, MetadataValue], Field(max_length=limits.METADATA_ENTRIES_MAX)]
        | None
    ) = Field(default=None, description="Up to 16 labels of your own, given back unchanged.")


class FileFacts(Shape):
    """A file without its link, as a log entry keeps it: links expire."""

    file_id: Annotated[str, about("`<work_id>/<path>`; contains slashes.")]
    name: str
    content_type: str
    kind: FileKind
    size: Annotated[int, about("Bytes.")]
    revision: Annotated[str, about("Quoted entity tag.")]
    work_id: str
    label: str | None

    @classmethod
    def of(cls, record: FileRecord, **more: Any) -> Self:
        """From its record."""
        return cls(
            file_id=record.file_id,
            name=record.name,
            content_type=record.content_type,
            kind=record.kind,
            size=record.size,
            revision=record.revision,
            work_id=record.work_id,
            label=record.label,
            **more,
        )


class FileShape(FileFacts):
    """A file the agent made."""

    url: Annotated[str, about("Signed download link; expires; needs no API key.")]

    @classmethod
    def linked(cls, record: FileRecord, links: Links) -> Self:
        """From its record, with a fresh link."""
        return cls.of(record, url=links.file(record.file_id, record.revision))


class FileObject(FileShape, tag_field="object", tag="file"):
    """One file."""


class JobShape(Shape):
    """A piece of work a message started, joined or had refused."""

    object: Annotated[Maybe[Literal["job"]], about("Only in events.")] = UNSET
    message_id: Annotated[Maybe[str], about("Only in events.")] = UNSET
    job_id: str
    kind: JobKind
    role: JobRole
    work_id: str
    title: str
    status: JobStatus
    reason: str | None
    final: bool
    queued: bool | None
    resume_by: Time | None
    link: str
    started_at: Time | None
    settled_at: Time | None
    files: list[FileShape]

    @classmethod
    def of(cls, link: JobLink, files: list[FileShape], links: Links, **more: Any) -> Self:
        """As one message lists it; ``files`` are the job's own."""
        record = link.job
        view = VIEWS[record.state]
        return cls(
            job_id=record.id,
            kind=record.kind,
            role=link.role,
            work_id=record.work_id,
            title=record.title,
            status=view.status,
            reason=view.reason or record.reason,
            final=view.final,
            queued=True if view.queued else None,
            resume_by=iso_or_none(record.queue_by) if view.queued else None,
            link=links.chat(record.work_id),
            started_at=iso_or_none(record.started_at),
            settled_at=iso_or_none(_watched_until(record) or record.settled_at),
            files=files,
            **more,
        )


class RunningShape(Shape):
    """A job that held one of the slots when a start was refused."""

    job_id: str
    message_id: str
    work_id: str


class MessageShape(Shape):
    """A message with its reply, jobs and files."""

    id: str
    object: Literal["message"] = "message"
    status: MessageStatus
    reason: str | None
    question: str | None
    final: Annotated[bool, about("Nothing about the message will change any more.")]
    reply: str | None
    jobs: list[JobShape]
    files: list[FileShape]
    notes: list[str]
    credits_used: float
    created_at: Time
    updated_at: Time
    version: Annotated[int, about("Grows with every change; also the ETag.")]
    metadata: Maybe[dict[str, str]] = UNSET
    traceparent: Annotated[Maybe[str], about("The W3C trace context the message came with.")] = (
        UNSET
    )
    retry_after_seconds: Maybe[int] = UNSET
    resume: Maybe[Literal["add_credits"]] = UNSET
    resume_by: Maybe[Time] = UNSET
    running: Maybe[list[RunningShape]] = UNSET

    @classmethod
    def of(cls, snapshot: Snapshot, links: Links) -> Self:
        """The answer to GET, to POST, and ``data`` of a ``message.*`` event."""
        record = snapshot.message
        files: list[FileShape] = []
        by_job: dict[str | None, list[FileShape]] = {}
        for made in _shown_files(snapshot):
            files.append(FileShape.linked(made, links))
            by_job.setdefault(made.job_id, []).append(files[-1])
        started = [link.job for link in snapshot.links if link.role is JobRole.EXECUTION]
        busy = record.reason is Reason.AGENT_BUSY
        return cls(
            id=record.id,
            status=record.status,
            reason=record.reason,
            question=record.question,
            final=bool(record.final),
            reply=record.reply,
            jobs=[JobShape.of(each, by_job.get(each.job.id, []), links) for each in snapshot.links],
            files=files,
            notes=loads(record.notes_json),
            credits_used=to_credits(sum(job.credits_used for job in started)),
            created_at=iso(record.created_at),
            updated_at=iso(record.updated_at),
            version=record.version,
            retry_after_seconds=AGENT_BUSY_RETRY_SECONDS if busy else UNSET,
            **labels(record),
            **_waiting(snapshot.links),
        )


def labels(record: MessageRecord) -> dict[str, Any]:
    """What the caller gave to know the message again; only there when it was given."""
    given: dict[str, Any] = {}
    if record.metadata_json is not None:
        given["metadata"] = loads(record.metadata_json)
    if record.traceparent is not None:
        given["traceparent"] = record.traceparent
    return given


def _waiting(links: Sequence[JobLink]) -> dict[str, Any]:
    """``resume``, ``resume_by`` and ``running``: only there when they say something."""
    given: dict[str, Any] = {}
    deadlines = [
        link.job.queue_by
        for link in links
        if link.job.state is JobState.QUEUED and link.job.queue_by is not None
    ]
    if deadlines:
        given.update(resume="add_credits", resume_by=iso(min(deadlines)))
    refused = next((link.job.running_json for link in links if link.job.running_json), None)
    if refused is not None:
        given["running"] = [RunningShape.stored(job) for job in loads(refused)]
    return given


def _watched_until(record: JobRecord) -> int | None:
    """When the watch of expired work ended; what came later is shown by a recover only.

    The message is final meanwhile, so nothing of it may change (spec: Message.final; design: Expiry
    and recover).
    """
    return record.watch_by if VIEWS[record.state].reason is Reason.WATCH_EXPIRED else None


def _shown_files(snapshot: Snapshot) -> list[FileRecord]:
    """The message's files without those that came after the watch."""
    until = {link.job.id: _watched_until(link.job) for link in snapshot.links}
    if not any(until.values()):
        return snapshot.files
    return [
        f for f in snapshot.files if f.created_at <= (until.get(f.job_id or "") or f.created_at)
    ]
