"""The timeline of a message: its signals, recorded calls, output of the agent's code, log entries,
events, deliveries and their attempts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentpost.context import AppContext
from agentpost.contract.shape import dumps
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.times import iso
from agentpost.explain import timeline_rows
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import OPEN_TURNS
from agentpost.record import history_rows, signals as s
from agentpost.record.journal_rules import name_of
from agentpost.record.records import AttachmentRecord, FileRecord, JobLink, JobRecord, MessageRecord
from agentpost.transactions import read_transaction

_TEXT_CHARACTERS = 120
_CALLS_DRAWN = 30


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened: ``source`` is signal, call, output, entry, event, delivery or
    attempt. ``body``: more facts, as JSON. It is read when somebody looks: a log may have 20,000
    entries, of which a page shows some."""

    at: int
    source: str
    subject: str
    what: str
    known: Mapping[str, Any]
    body: str = "{}"

    @property
    def facts(self) -> dict[str, Any]:
        """What is recorded of it."""
        return {**self.known, **json.loads(self.body)}

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
    """Something that took time: a turn, a job, a call or an attempt of a delivery; ``end`` is None
    while it goes on. A call is recorded when it ends, so it began at the latest with the end of the
    one before.

    Attributes:
        failed: for an attempt, that it failed.
        attempt: (endpoint id, event id, number) of an attempt.
    """

    kind: str
    label: str
    start: int
    end: int | None
    failed: bool = False
    attempt: tuple[str, str, int] | None = None


class SentDelivery(NamedTuple):
    """A delivery of one of the message's events: to which endpoint, and how it stands; ``url`` is
    None when the endpoint is gone."""

    event_id: str
    event: str
    endpoint_id: str
    status: str
    attempts: int
    code: int | None
    error: str | None
    at: int
    url: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A message with its jobs, a summary of both, its events in order, what took time, what was
    sent with it, what was made for it, and the deliveries of its events. ``total``: how many events
    there are, of which ``lines`` may be the last."""

    message: MessageRecord
    jobs: Sequence[JobRecord]
    summary: dict[str, Any]
    lines: list[TimelineEvent]
    total: int
    spans: Sequence[Span]
    attachments: Sequence[AttachmentRecord] = ()
    files: Sequence[FileRecord] = ()
    deliveries: Sequence[SentDelivery] = ()


@read_transaction
def build(
    tx: Tx,
    ctx: AppContext,
    message_id: str,
    account_id: str | None = None,
    part_lines: int | None = None,
) -> Timeline:
    """The timeline of a message and of every job it lists; raises ``not_found``.

    With ``part_lines`` its last part: the events are counted off in parts of so many from the
    first on. Reading it costs the same however long the log is, but for counting.

    Without an account the operator asks, about any key's message, also one past its retention that
    is still there.
    """
    message = message_rows.get(tx, message_id)
    if message is None:
        raise not_found("message")
    is_kept = message.expires_at > ctx.clock.now()
    if account_id is not None and (message.account_id != account_id or not is_kept):
        raise not_found("message")
    links = message_rows.links(tx, message_id)
    owners = (message_id, *(link.job.id for link in links))
    full = account_id is None
    implied_lines = _implied_signals(tx, message)
    lines = implied_lines + _recorded_lines(
        tx, message_id, owners, part_lines or timeline_rows.ALL, full=full
    )
    webhooks, attempts, deliveries_sent = _webhooks(tx, message_id)
    total = (
        timeline_rows.count(tx, message_id, owners, output=full)
        + len(implied_lines)
        + len(webhooks)
    )
    jobs = [link.job for link in links]
    spans = [*_spans(tx, message, jobs), *attempts]
    lines = sorted(lines + webhooks, key=lambda line: line.at)
    if part_lines is not None and total:
        lines = lines[-((total - 1) % part_lines + 1) :]
    return Timeline(
        message,
        jobs,
        _summary(message, links),
        lines,
        total,
        spans,
        history_rows.attachments(tx, message_id) if message.attachments else [],
        message_rows.files(tx, message_id) if message.jobs or message.reply_files else [],
        deliveries_sent,
    )


def _summary(message: MessageRecord, links: Sequence[JobLink]) -> dict[str, Any]:
    return {
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
        "jobs": {link.job.id: _job_summary(link) for link in links},
    }


def _job_summary(link: JobLink) -> dict[str, Any]:
    job = link.job
    return {
        "role": link.role.value,
        "state": job.state.value,
        "node": job.node,
        "calls": job.calls,
        "takeovers": job.takeovers,
        "watch_by": iso(job.watch_by) if job.watch_by else None,
        "queue_by": iso(job.queue_by) if job.queue_by else None,
        "diverged_at": iso(job.diverged_at) if job.diverged_at else None,
        "divergence": job.divergence,
    }


def _for_account(body: str) -> str:
    """A signal's facts without the cause of a failure, which is the agent's author's to know."""
    if '"cause"' not in body:
        return body
    facts = json.loads(body)
    facts.pop("cause", None)
    return json.dumps(facts)


def _implied_signals(tx: Tx, message: MessageRecord) -> list[TimelineEvent]:
    """Two signals that have no row, since other rows say the same: the turn began with the message,
    and what the agent replied."""
    signals: list[tuple[int, s.TurnSignal]] = []
    if not timeline_rows.has_signal(tx, message.id, s.TurnQueued.__name__):
        signals.append((message.created_at, s.TurnBegun()))
    if message.reply is not None:
        signals.append((message.updated_at, _reply_signal(tx, message, message.reply)))
    return [
        TimelineEvent(at, "signal", message.id, type(signal).__name__, {}, dumps(signal))
        for at, signal in signals
    ]


def _reply_signal(tx: Tx, message: MessageRecord, reply: str) -> s.TurnReplied:
    """``reply`` is the reply's text and the question (`record.apply_turn`)."""
    entry = timeline_rows.reply(tx, message.id)  # None: retention removed it
    in_time = entry is not None and bool(json.loads(entry).get("delivered_sync"))
    question = message.asked
    text = reply.removesuffix(question).removesuffix("\n\n") if question else reply
    return s.TurnReplied(text or None, question, delivered_sync=in_time)


def _recorded_lines(
    tx: Tx, message_id: str, owners: Sequence[str], last: int, *, full: bool
) -> list[TimelineEvent]:
    """The last calls, signals and lines of each owner, and the last entries of the log. ``full``:
    with the causes of failures, and what the agent's code said there: neither is meant for the
    agent's users."""
    lines = []
    for owner in owners:
        for n, at, what in timeline_rows.calls(tx, owner, last):
            lines.append(TimelineEvent(at, "call", owner, name_of(what or ""), {"n": n}))
        for at, name, body in timeline_rows.signals(tx, owner, last):
            visible_body = body if full else _for_account(body)
            lines.append(TimelineEvent(at, "signal", owner, name, {}, visible_body))
        if full:
            for at, call, level, text in timeline_rows.of_owner(tx, owner, last):
                facts = {"call": call, "level": level, "text": text}
                lines.append(TimelineEvent(at, "output", owner, "line", facts))
    for seq, at, kind, job_id, body in timeline_rows.entries(tx, message_id, last):
        subject = job_id or message_id
        lines.append(TimelineEvent(at, "entry", subject, kind, {"seq": seq}, body))
    return lines


def _webhooks(
    tx: Tx, message_id: str
) -> tuple[list[TimelineEvent], list[Span], list[SentDelivery]]:
    """The message's events, deliveries and attempts; how long each attempt took; the deliveries."""
    lines: list[TimelineEvent] = []
    spans: list[Span] = []
    deliveries_sent: list[SentDelivery] = []
    for event_id, at, name, job_id in timeline_rows.events(tx, message_id):
        lines.append(TimelineEvent(at, "event", job_id or message_id, name, {"id": event_id}))
        for row in timeline_rows.deliveries(tx, event_id):
            sent = SentDelivery(event_id, name, *row)
            deliveries_sent.append(sent)
            counts = {"attempts": sent.attempts, "code": sent.code, "error": sent.error}
            facts = {"event": event_id, **counts}
            lines.append(TimelineEvent(sent.at, "delivery", sent.endpoint_id, sent.status, facts))
        for endpoint_id, attempt_at, n, code, error, ms in timeline_rows.attempts(tx, event_id):
            facts = {"event": event_id, "n": n, "code": code, "error": error, "ms": ms}
            outcome = "succeeded" if error is None else "failed"
            lines.append(TimelineEvent(attempt_at, "attempt", endpoint_id, outcome, facts))
            began, attempt = attempt_at - ms * 1_000, (endpoint_id, event_id, n)
            spans.append(Span("attempt", name, began, attempt_at, error is not None, attempt))
    return lines, sorted(spans, key=lambda span: span.end or 0), deliveries_sent


def _spans(tx: Tx, message: MessageRecord, jobs: Sequence[JobRecord]) -> list[Span]:
    """How long the turn, the jobs and their calls took."""
    spans = []
    if message.turn_began_at is not None:
        end = message.updated_at if message.turn_state not in OPEN_TURNS else None
        spans.append(Span("turn", "Reading the message", message.turn_began_at, end))
        spans += _call_spans(tx, message.id, message.turn_began_at)
    for job in jobs:
        if job.started_at is not None:
            spans.append(Span("job", job.title or job.id, job.started_at, job.settled_at))
            spans += _call_spans(tx, job.id, job.started_at)
    return spans


def _call_spans(tx: Tx, owner: str, began: int) -> list[Span]:
    """The calls of a turn or job in order; of many, those that took longest."""
    longest = timeline_rows.longest_calls(tx, began, owner, _CALLS_DRAWN)
    spans = [
        Span("call", name_of(what or ""), min(start, end), end) for start, end, what in longest
    ]
    return sorted(spans, key=lambda span: span.start)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
