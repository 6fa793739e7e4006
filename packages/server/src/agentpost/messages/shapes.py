"""Message, Job and File (spec: Message; Job; File).

Poll, create response, event log, webhook and web pages all come from here, so they cannot disagree.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from msgspec import UNSET

from agentpost.contract.shape import Links, Maybe, Shape, Time, about, loads
from agentpost.credits.rules import Ceiling
from agentpost.domain.credits import to_credits
from agentpost.domain.file_names import FileKind
from agentpost.domain.limits import AGENT_BUSY_RETRY_SECONDS
from agentpost.domain.times import iso, iso_or_none
from agentpost.jobs.rules import VIEWS, JobKind, JobRole, JobState, JobStatus, Reason
from agentpost.messages.rules import MessageStatus
from agentpost.questions import rules as question_rules
from agentpost.record.records import FileRecord, JobLink, JobRecord, MessageRecord, Snapshot


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
        fields = {name: getattr(record, name) for name in FileFacts.__struct_fields__}
        return cls(**fields, **more)


class FileShape(FileFacts):
    """A file the agent made."""

    url: Annotated[str, about("Signed download link; expires; needs no API key.")]

    @classmethod
    def from_record(cls, record: FileRecord, links: Links) -> Self:
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
    text: Annotated[str | None, about("Its result, or why it failed; null until it has ended.")]
    output: Annotated[
        Any, about("Only with `response_schema`: fits it; null until the job has completed.")
    ] = UNSET

    @classmethod
    def of(
        cls,
        link: JobLink,
        files: list[FileShape],
        links: Links,
        message: MessageRecord | None = None,
        **more: Any,
    ) -> Self:
        """As one message lists it; ``files`` are the job's own, ``message`` is the one."""
        record = link.job
        if message is not None and message.response_schema_json is not None:
            more["output"] = _output_of_job(link)
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
            text=None if _watched_until(record) else record.result,
            **more,
        )


class RunningShape(Shape):
    """A job that held one of the slots when a start was refused."""

    job_id: str
    message_id: str
    work_id: str


class AnswerFormatShape(Shape):
    """An answer is one of `choices`, or JSON that fits `schema`."""

    choices: Maybe[list[str]] = UNSET
    schema: Annotated[Maybe[dict[str, Any]], about("A JSON Schema (2020-12).")] = UNSET


class MessageShape(Shape):
    """A message with its reply, jobs and files."""

    id: str
    object: Literal["message"] = "message"
    status: MessageStatus
    reason: str | None
    question: str | None
    final: Annotated[bool, about("Nothing about the message will change any more.")]
    reply: Annotated[
        str | None,
        about("The first answer; the sentence of the result is the `text` of a job."),
    ]
    jobs: list[JobShape]
    files: list[FileShape]
    notes: list[str]
    credits_used: float
    created_at: Time
    updated_at: Time
    version: Annotated[int, about("Grows with every change; also the ETag.")]
    conversation: Annotated[
        str | None, about("The name that the request gave; null when it gave none.")
    ]
    metadata: Maybe[dict[str, str]] = UNSET
    traceparent: Annotated[Maybe[str], about("The W3C trace context the message came with.")] = (
        UNSET
    )
    retry_after_seconds: Maybe[int] = UNSET
    resume: Maybe[Literal["add_credits"]] = UNSET
    resume_by: Maybe[Time] = UNSET
    running: Maybe[list[RunningShape]] = UNSET
    queue_position: Annotated[
        Maybe[int],
        about("Only while a message sent with `busy: queue` waits for its turn; 1: it is next."),
    ] = UNSET

    max_credits: Annotated[Maybe[float], about("As given with the message or a recover.")] = UNSET
    waits_for: Annotated[
        Maybe[Literal["max_credits", "next_day"]],
        about(
            "Instead of `resume`, when parked work may use no more credits: a recover with a higher"
            " `max_credits` continues it, or the next day (UTC) of its key does."
        ),
    ] = UNSET

    answer_format: Annotated[
        Maybe[AnswerFormatShape], about("Only while the `question` asks for an answer of a kind.")
    ] = UNSET
    output: Annotated[
        Any, about("Only with `response_schema`: fits it; null until it is there.")
    ] = UNSET

    @classmethod
    def of(cls, snapshot: Snapshot, links: Links) -> Self:
        """The answer to GET, to POST, and ``data`` of a ``message.*`` event."""
        record = snapshot.message
        files: list[FileShape] = []
        by_job: dict[str | None, list[FileShape]] = {}
        for file_record in _shown_files(snapshot):
            files.append(FileShape.from_record(file_record, links))
            by_job.setdefault(file_record.job_id, []).append(files[-1])
        started = [link.job for link in snapshot.links if link.role is JobRole.EXECUTION]
        busy = record.reason is Reason.AGENT_BUSY
        return cls(
            id=record.id,
            status=record.status,
            reason=record.reason,
            question=record.question,
            final=bool(record.final),
            reply=record.reply,
            jobs=[
                JobShape.of(each, by_job.get(each.job.id, []), links, record)
                for each in snapshot.links
            ],
            files=files,
            notes=loads(record.notes_json),
            credits_used=to_credits(sum(job.credits_used for job in started)),
            created_at=iso(record.created_at),
            updated_at=iso(record.updated_at),
            version=record.version,
            conversation=record.conversation,
            retry_after_seconds=AGENT_BUSY_RETRY_SECONDS if busy else UNSET,
            queue_position=UNSET if snapshot.queue_position is None else snapshot.queue_position,
            max_credits=UNSET if record.max_credits is None else to_credits(record.max_credits),
            **labels(record),
            **_waiting(snapshot.links),
            **(_typed_fields(snapshot) if record.question or record.response_schema_json else {}),
        )


_WAITS_FOR = {Ceiling.MESSAGE: "max_credits", Ceiling.DAY: "next_day"}


class MessageItemShape(MessageShape):
    """A message in a list, with what was sent."""

    message: Annotated[str, about("The text as it was sent.")]

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, links: Links) -> Self:
        """From its record."""
        shape = MessageShape.of(snapshot, links)
        fields = {name: getattr(shape, name) for name in shape.__struct_fields__}
        return cls(**fields, message=snapshot.message.text)


class MessageListShape(Shape):
    """Messages of a key, newest first; continue with `before` = the last `id`."""

    object: Literal["list"] = "list"
    data: list[MessageItemShape]
    has_more: bool
    next_before: Annotated[
        Maybe[str], about("Only when the page ended early: continue with `before` = this.")
    ] = UNSET


class MessageDeletedShape(Shape):
    """A deleted message."""

    object: Literal["message"] = "message"
    id: str
    deleted: Literal[True] = True


def labels(record: MessageRecord) -> dict[str, Any]:
    """What the caller gave to know the message again; only there when it was given."""
    fields: dict[str, Any] = {}
    if record.metadata_json is not None:
        fields["metadata"] = loads(record.metadata_json)
    if record.traceparent is not None:
        fields["traceparent"] = record.traceparent
    return fields


def _waiting(links: Sequence[JobLink]) -> dict[str, Any]:
    """``resume``, ``resume_by`` and ``running``: only there when they say something."""
    fields: dict[str, Any] = {}
    queued = [
        (link.job.queue_by, link.job.ceiling)
        for link in links
        if link.job.state is JobState.QUEUED and link.job.queue_by is not None
    ]
    if queued:
        deadline, ceiling = min(queued, key=lambda each: each[0])
        fields["resume_by"] = iso(deadline)
        if ceiling is None:
            fields["resume"] = "add_credits"
        else:
            fields["waits_for"] = _WAITS_FOR[ceiling]
    running_json = next((link.job.running_json for link in links if link.job.running_json), None)
    if running_json is not None:
        fields["running"] = [RunningShape.from_stored(job) for job in loads(running_json)]
    return fields


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


def _typed_fields(snapshot: Snapshot) -> dict[str, Any]:
    """``answer_format`` and ``output``: only there when they were asked for."""
    fields: dict[str, Any] = {}
    answer_format = question_rules.format_of(snapshot)
    if answer_format is not None:
        fields["answer_format"] = AnswerFormatShape.from_stored(loads(answer_format))
    if snapshot.message.response_schema_json is not None:
        output = question_rules.output_of(snapshot)
        fields["output"] = None if output is None else loads(output)
    return fields


def _output_of_job(link: JobLink) -> Any:
    """The output of a job, as the message that started it shows it.

    A job that was only joined has its output for another message's schema."""
    is_shown = link.role is JobRole.EXECUTION and link.job.state is JobState.COMPLETED
    text = link.job.output_json if is_shown else None
    return None if text is None else loads(text)
