"""The timeline of a message: its signals, recorded calls, log entries, events, deliveries and their
attempts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentpost.db import messages as message_rows
from agentpost.db import timeline as rows
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.journal import name_of
from agentpost.domain.message import OPEN_TURNS
from agentpost.domain.records import JobRecord, MessageRecord
from agentpost.domain.times import iso
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction

_TEXT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened: ``source`` is signal, call, entry, event, delivery or attempt."""

    at: int
    source: str
    subject: str
    what: str
    facts: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "at": iso(self.at),
            "source": self.source,
            "subject": self.subject,
            "what": self.what,
            "facts": self.facts,
        }

    def as_text(self) -> str:
        """For people: one line, long texts cut."""
        facts = " ".join(
            f"{name}={_short(value)}" for name, value in self.facts.items() if value is not None
        )
        return f"{iso(self.at)}  {self.source:8}  {self.subject}  {self.what}  {facts}".rstrip()


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time: a turn, a job or an attempt of a delivery; ``end`` is None while it
    goes on."""

    kind: str
    label: str
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A message with its jobs, a summary of both, its events in order and what took time."""

    message: MessageRecord
    jobs: Sequence[JobRecord]
    summary: dict[str, Any]
    lines: list[TimelineEvent]
    spans: Sequence[Span]


@read_transaction
def build(tx: Tx, ctx: AppContext, message_id: str, account_id: str | None = None) -> Timeline:
    """The timeline of a message and of every job it lists; raises ``not_found``.

    Without an account the operator asks, about any key's message, also one past its retention that
    is still there.
    """
    message = message_rows.get(tx, message_id)
    if message is None:
        raise not_found("message")
    kept = message.expires_at > ctx.clock.now()
    if account_id is not None and (message.account_id != account_id or not kept):
        raise not_found("message")
    links = message_rows.links(tx, message_id)
    lines: list[TimelineEvent] = []
    for owner in (message_id, *(link.job.id for link in links)):
        for n, at, what in rows.calls(tx, owner):
            lines.append(TimelineEvent(at, "call", owner, name_of(what or ""), {"n": n}))
        for at, name, body in rows.signals(tx, owner):
            lines.append(TimelineEvent(at, "signal", owner, name, json.loads(body)))
    for seq, at, kind, job_id, body in rows.entries(tx, message_id):
        facts = {"seq": seq, **json.loads(body)}
        lines.append(TimelineEvent(at, "entry", job_id or message_id, kind, facts))
    for event_id, at, name, job_id in rows.events(tx, message_id):
        lines.append(TimelineEvent(at, "event", job_id or message_id, name, {"id": event_id}))
        for delivery in rows.deliveries(tx, event_id):
            endpoint_id, status, attempts, code, last_error, last_at = delivery
            facts = {"event": event_id, "attempts": attempts, "code": code, "error": last_error}
            lines.append(TimelineEvent(last_at, "delivery", endpoint_id, status, facts))
        for endpoint_id, attempt_at, n, code, error, ms in rows.attempts(tx, event_id):
            facts = {"event": event_id, "n": n, "code": code, "error": error, "ms": ms}
            ended = "succeeded" if error is None else "failed"
            lines.append(TimelineEvent(attempt_at, "attempt", endpoint_id, ended, facts))
    summary = {
        "id": message.id,
        "account_id": message.account_id,
        "key_id": message.key_id,
        "conversation_id": message.conversation_id,
        "turn": message.turn_state.value,
        "node": message.turn_node,
        "status": message.status.value,
        "reason": message.reason.value if message.reason else None,
        "final": bool(message.final),
        "version": message.version,
        "traceparent": message.traceparent,
        "created_at": iso(message.created_at),
        "expires_at": iso(message.expires_at),
        "jobs": {
            link.job.id: {
                "role": link.role.value,
                "state": link.job.state.value,
                "node": link.job.node,
                "calls": link.job.calls,
                "takeovers": link.job.takeovers,
                "watch_by": iso(link.job.watch_by) if link.job.watch_by else None,
                "queue_by": iso(link.job.queue_by) if link.job.queue_by else None,
            }
            for link in links
        },
    }
    lines.sort(key=lambda line: line.at)
    jobs = [link.job for link in links]
    return Timeline(message, jobs, summary, lines, _spans(message, jobs, lines))


def _spans(
    message: MessageRecord, jobs: Sequence[JobRecord], lines: Sequence[TimelineEvent]
) -> list[Span]:
    spans = []
    if message.turn_began_at is not None:
        ended = message.updated_at if message.turn_state not in OPEN_TURNS else None
        spans.append(Span("turn", "The agent read the message", message.turn_began_at, ended))
    spans += [
        Span("job", job.title or job.id, job.started_at, job.settled_at)
        for job in jobs
        if job.started_at is not None
    ]
    for line in lines:
        if line.source == "attempt":
            label = f"Webhook, attempt {line.facts['n']}: {line.what}"
            spans.append(Span("attempt", label, line.at - line.facts["ms"] * 1_000, line.at))
    return spans


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
