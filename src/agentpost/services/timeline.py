"""The timeline of a message: its signals, log entries, events, deliveries and their attempts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agentpost.db import messages as message_rows
from agentpost.db import timeline as rows
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.times import iso
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction

_TEXT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened: ``source`` is signal, entry, event, delivery or attempt."""

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
class Timeline:
    """A summary of the message, and its events in order."""

    summary: dict[str, Any]
    lines: list[TimelineEvent]


@read_transaction
def build(tx: Tx, ctx: AppContext, message_id: str) -> Timeline:
    """The timeline of a message and of every job it lists; raises ``not_found``.

    An operator may ask about any key's message, also one past its retention that is still there.
    """
    message = message_rows.get(tx, message_id)
    if message is None:
        raise not_found("message")
    links = message_rows.links(tx, message_id)
    lines: list[TimelineEvent] = []
    for owner in (message_id, *(link.job.id for link in links)):
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
    return Timeline(summary, sorted(lines, key=lambda line: line.at))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
