"""Derive a message's status, log entry and reply from rows already read; `record.writer` writes
them."""

from __future__ import annotations

from typing import Any

from agentpost.context import AppContext
from agentpost.domain.times import seconds
from agentpost.jobs.rules import VIEWS
from agentpost.messages import status_rules
from agentpost.messages.shapes import FileFacts
from agentpost.record.events import Entry, EntryType, EventName, message_event
from agentpost.record.records import FileRecord, JobLink, JobRecord, MessageRecord


def derive(ctx: AppContext, message: MessageRecord, links: list[JobLink]) -> EventName | None:
    """Bring status, finality and retention up to date; the event that is worth."""
    before = (message.status, bool(message.final))
    facts = [
        status_rules.JobFacts(
            link.job.state, VIEWS[link.job.state].reason or link.job.reason, link.job.question
        )
        for link in links
    ]
    view = status_rules.derive(message.turn_state, message.asked, facts)
    message.status, message.reason = view.status, view.reason
    message.question, message.final = view.question, int(view.final)
    deadlines = [at or 0 for link in links for at in (link.job.queue_by, link.job.watch_by)]
    keep = seconds(ctx.settings.message_retention_seconds)
    message.expires_at = max([message.created_at, *deadlines]) + keep
    return message_event(before, (message.status, bool(message.final)))


def line(entry: Entry | None, files: list[FileRecord], job: JobRecord | None) -> Entry | None:
    """Complete a log line with what the tables do not know: title and files."""
    if entry is None:
        return None
    fields: dict[str, Any] = dict(entry.fields)
    if job is not None and entry.type is EntryType.RESULT:
        fields = {"title": job.title, **fields}
    if entry.with_files:
        fields["files"] = [FileFacts.of(f) for f in files]
    return Entry(entry.type, fields)
