"""A message's recorded signals, read and put through the state machine again (`domain.replay`)."""

from __future__ import annotations

import json
from typing import Any, Final, get_args

import msgspec

from agentpost.db import messages as message_rows
from agentpost.db import timeline as rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain import signals as s
from agentpost.domain.errors import not_found
from agentpost.domain.replay import Replay, replay
from agentpost.domain.replay_history import History, KeptEntry, KeptEvent, KeptSignal, Step
from agentpost.domain.times import iso, seconds
from agentpost.services.context import AppContext
from agentpost.services.implied_signals import implied_signals
from agentpost.services.transactions import read_transaction

_SIGNALS: Final = {
    kind.__name__: kind for kind in (*get_args(s.TurnSignal), *get_args(s.JobSignal))
}


@read_transaction
def check(tx: Tx, ctx: AppContext, message_id: str) -> Replay:
    """Replay a message's signals on one snapshot; changes nothing. Raises ``not_found``."""
    oldest = ctx.clock.now() - seconds(ctx.settings.entry_retention_seconds)
    return replay(history(tx, message_id, oldest))


def history(tx: Tx, message_id: str, log_from: int = 0) -> History:
    """All that is kept of the message; raises ``not_found``. ``log_from``: see `History`."""
    message = message_rows.get(tx, message_id)
    if message is None:
        raise not_found("message")
    links = message_rows.links(tx, message_id)
    owners = (message_id, *(link.job.id for link in links))
    signals = [
        KeptSignal(owner, signal_id, at, name, _signal(name, body))
        for owner in owners
        for signal_id, at, name, body in rows.kept_signals(tx, owner)
    ]
    signals += [
        KeptSignal(message_id, ids.at(ids.SIGNAL, at), at, type(signal).__name__, signal)
        for at, signal in implied_signals(tx, message)
    ]
    entries = [
        KeptEntry(seq, at, kind, job_id, json.loads(body))
        for seq, at, kind, job_id, body in rows.entries(tx, message_id)
    ]
    events = [
        KeptEvent(event_id, at, name, job_id, json.loads(data)["status"])
        for event_id, at, name, job_id, data in rows.event_data(tx, message_id)
    ]
    return History(message, links, signals, entries, events, log_from)


def _signal(name: str, body: str) -> s.TurnSignal | s.JobSignal | None:
    """The signal as it was recorded; None: another version's, or not a signal at all."""
    kind = _SIGNALS.get(name)
    if kind is None:
        return None
    try:
        found: s.TurnSignal | s.JobSignal = msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return found


def as_dict(message_id: str, found: Replay) -> dict[str, Any]:
    """For JSON."""
    return {
        "message_id": message_id,
        "agrees": found.problem is None,
        "problem": found.problem,
        "steps": [_step(step) for step in found.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "at": iso(step.kept.at),
        "owner": step.kept.owner,
        "signal_id": step.kept.id,
        "signal": step.kept.name,
        "before": step.before,
        "after": step.after,
        "entry": {"expected": step.entry, "recorded": step.seq},
        "events": {"expected": step.events, "recorded": step.sent},
        "status": step.status,
        "before_an_earlier_time": step.early,
        "problem": step.problem,
    }


def as_text(step: Step) -> str:
    """For people: one line."""
    parts = [
        iso(step.kept.at),
        step.kept.owner,
        f"{step.kept.name}:",
        f"{step.before or 'new'} -> {step.after or '?'}",
    ]
    if step.entry is not None:
        recorded = f"entry {step.seq}" if step.seq else "no entry kept"
        parts.append(f" {step.entry} = {recorded}")
    if step.events:
        kept = [name if name in step.sent else f"{name} (not stored)" for name in step.events]
        parts.append(" " + ", ".join(kept))
    if step.early:
        parts.append(" (recorded before one of an earlier time)")
    return " ".join(parts)
