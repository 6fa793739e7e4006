"""The only builder of Message, Job, File and entry JSON (design: One record and one writer).

Poll, create response, event log, webhook and web pages all come from here, so they cannot disagree.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from pydantic_core import to_json

from agentpost.domain.credits import to_credits
from agentpost.domain.job import VIEWS, JobRole, JobState, Reason
from agentpost.domain.limits import (
    AGENT_BUSY_RETRY_SECONDS,
    WORK_PREVIEW_CHARACTERS,
    WORK_TEXT_PAGE_CHARACTERS,
)
from agentpost.domain.records import (
    EntryRecord,
    FileRecord,
    JobLink,
    JobRecord,
    MessageRecord,
    Snapshot,
    WorkRecord,
)
from agentpost.domain.times import iso

Shape = dict[str, Any]


class Links(Protocol):
    """Builds the addresses that appear in shapes."""

    def chat(self, work_id: str) -> str:
        """Where a person sees the work."""
        ...

    def file(self, file_id: str, revision: str) -> str:
        """A signed, expiring download link."""
        ...


def dumps(shape: Shape) -> bytes:
    """JSON bytes of a shape."""
    return to_json(shape)


def _time(at: int | None) -> str | None:
    return iso(at) if at is not None else None


def file(record: FileRecord, links: Links) -> Shape:
    """A File with a fresh link."""
    return _with_link(file_facts(record), links)


def file_facts(record: FileRecord) -> Shape:
    """A File without its link: what a log entry keeps, since links expire."""
    return {
        "file_id": record.file_id,
        "name": record.name,
        "content_type": record.content_type,
        "kind": record.kind,
        "size": record.size,
        "revision": record.revision,
        "work_id": record.work_id,
        "label": record.label,
    }


def _with_link(facts: Shape, links: Links) -> Shape:
    return {**facts, "url": links.file(facts["file_id"], facts["revision"])}


def job(link: JobLink, files: Sequence[FileRecord], links: Links) -> Shape:
    """A Job as one message lists it; ``files`` are the job's own."""
    record = link.job
    view = VIEWS[record.state]
    reason = view.reason or record.reason
    watched_until = _watched_until(record)
    return {
        "job_id": record.id,
        "kind": record.kind.value,
        "role": link.role.value,
        "work_id": record.work_id,
        "title": record.title,
        "status": view.status.value,
        "reason": reason.value if reason else None,
        "final": view.final,
        "queued": True if view.queued else None,
        "resume_by": _time(record.queue_by) if view.queued else None,
        "link": links.chat(record.work_id),
        "started_at": _time(record.started_at),
        "settled_at": _time(watched_until or record.settled_at),
        "files": [file(f, links) for f in files],
    }


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


def job_event(
    record: JobRecord, started_by: MessageRecord, files: Sequence[FileRecord], links: Links
) -> Shape:
    """``data`` of a ``job.*`` event: the job, and what its message was given to be known again."""
    shape = job(JobLink(record, JobRole.EXECUTION), files, links)
    return {"object": "job", "message_id": started_by.id, **shape, **_labels(started_by)}


def _labels(record: MessageRecord) -> Shape:
    """What the caller gave to know the message again; only there when it was given."""
    labels: Shape = {}
    if record.metadata_json is not None:
        labels["metadata"] = json.loads(record.metadata_json)
    if record.traceparent is not None:
        labels["traceparent"] = record.traceparent
    return labels


def message(snapshot: Snapshot, links: Links) -> Shape:
    """A Message: the answer to GET, to POST, and ``data`` of a ``message.*`` event."""
    record = snapshot.message
    files = _shown_files(snapshot)
    by_job: dict[str | None, list[FileRecord]] = {}
    for made in files:
        by_job.setdefault(made.job_id, []).append(made)
    used = sum(link.job.credits_used for link in snapshot.links if link.role is JobRole.EXECUTION)
    shape: Shape = {
        "id": record.id,
        "object": "message",
        "status": record.status.value,
        "reason": record.reason.value if record.reason else None,
        "question": record.question,
        "final": bool(record.final),
        "reply": record.reply,
        "jobs": [job(link, by_job.get(link.job.id, ()), links) for link in snapshot.links],
        "files": [file(made, links) for made in files],
        "notes": json.loads(record.notes_json),
        "credits_used": to_credits(used),
        "created_at": iso(record.created_at),
        "updated_at": iso(record.updated_at),
        "version": record.version,
        **_labels(record),
    }
    if record.reason is Reason.AGENT_BUSY:
        shape["retry_after_seconds"] = AGENT_BUSY_RETRY_SECONDS
    _add_waiting(shape, snapshot.links)
    return shape


def _add_waiting(shape: Shape, links: Sequence[JobLink]) -> None:
    """``resume``, ``resume_by`` and ``running``: only there when they say something."""
    deadlines = [
        link.job.queue_by
        for link in links
        if link.job.state is JobState.QUEUED and link.job.queue_by is not None
    ]
    if deadlines:
        shape["resume"] = "add_credits"
        shape["resume_by"] = iso(min(deadlines))
    refused = next((link.job.running_json for link in links if link.job.running_json), None)
    if refused is not None:
        shape["running"] = json.loads(refused)


def entry(record: EntryRecord, links: Links) -> Shape:
    """A line of the event log, with fresh links for its files."""
    body = json.loads(record.body_json)
    shape: Shape = {"seq": record.seq, "type": record.type, "at": iso(record.at)}
    shape["message_id"] = record.message_id
    if record.work_id is not None:
        shape["work_id"] = record.work_id
    if record.job_id is not None:
        shape["job_id"] = record.job_id
    shape.update(body)
    if "files" in body:
        shape["files"] = [_with_link(facts, links) for facts in body["files"]]
    return shape


def event(name: str, at: int, data_json: str, links: Links) -> bytes:
    """The body of a webhook: the event as it was kept, its files with fresh links.

    Links are signed where `message` and `job_event` put files and nowhere else: a caller's
    ``metadata`` may look like a file.
    """
    head = dumps({"type": name, "timestamp": iso(at)})[:-1]
    if '"file_id":' not in data_json:
        return b'%b,"data":%b}' % (head, data_json.encode())
    data = json.loads(data_json)
    for holder in (data, *data.get("jobs", ())):
        if "files" in holder:
            holder["files"] = [_with_link(facts, links) for facts in holder["files"]]
    return b'%b,"data":%b}' % (head, dumps(data))


def work(
    record: WorkRecord,
    *,
    running: bool,
    files: Sequence[FileRecord],
    from_char: int,
    links: Links,
) -> Shape:
    """A Work with one page of its text, counted in characters."""
    end = from_char + WORK_TEXT_PAGE_CHARACTERS
    return {
        "object": "work",
        "work_id": record.id,
        "title": record.title,
        "status": "running" if running else "idle",
        "text": record.text[from_char:end],
        "next_from_char": end if end < len(record.text) else None,
        "link": links.chat(record.id),
        "files": [file(made, links) for made in files],
    }


def work_item(record: WorkRecord, links: Links, *, running: bool) -> Shape:
    """A line of the work list."""
    return {
        "object": "work",
        "work_id": record.id,
        "title": record.title,
        "preview": record.text[:WORK_PREVIEW_CHARACTERS],
        "link": links.chat(record.id),
        "status": "running" if running else "idle",
        "updated_at": iso(record.updated_at),
    }


def work_deleted(work_id: str) -> Shape:
    """The answer to ``DELETE /v1/work/{work_id}``."""
    return {"object": "work", "work_id": work_id, "deleted": True}


def file_object(record: FileRecord, links: Links) -> Shape:
    """The answer to ``GET /v1/files/{file_id}``."""
    return {"object": "file", **file(record, links)}
