"""A message's recorded signals, put through the state machine again and compared with its record.

Signals of the turn and of every job that the message lists are folded one after the other
(`domain.replay_order`); each is compared with the log and the webhook events, and in the end the
rows of the message and its jobs with what the signals lead to. design: One record and one writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agentpost.domain import signals as s
from agentpost.domain import status
from agentpost.domain.events import message_event
from agentpost.domain.job import VIEWS, JobRole, JobState, Reason
from agentpost.domain.message import MessageStatus, TurnState
from agentpost.domain.replay_history import History, KeptEvent, Step
from agentpost.domain.replay_order import Order


@dataclass(frozen=True, slots=True)
class Replay:
    """The steps up to the first disagreement, which ``problem`` names; None: the record agrees."""

    steps: Sequence[Step]
    problem: str | None


def replay(history: History) -> Replay:
    """Fold a message's signals again and compare each step, then how the message stands."""
    found = _replay(history, Order(history))
    if found.problem is None:
        return found
    # A turn's end that says nothing has no line, so the log does not place it among the jobs'.
    other = _replay(history, Order(history, turn_first=True))
    return found if other.problem else other


def _replay(history: History, order: Order) -> Replay:
    steps = order.find()
    derived = _derive(history, steps)
    wrong = next((step for step in steps if step.problem), None)
    if wrong is not None:
        return Replay(steps[: steps.index(wrong) + 1], wrong.problem)
    return Replay(steps, _rest(history, steps) or _wrong_rows(history, steps, derived))


# --- what follows from the order ------------------------------------------------------------------
def _derive(history: History, steps: Sequence[Step]) -> status.Derived | None:
    """Add to each step the message's status after it, and the events it is worth and has."""
    jobs: dict[str, status.JobFacts] = {}
    turn: TurnState | None = None
    asked: str | None = None
    derived: status.Derived | None = None
    shown = (MessageStatus.PROCESSING, False)
    left = list(history.events)
    listed = [link.job.id for link in history.links]
    for step in steps:
        if step.after is None or step.problem is not None:
            break
        signal = step.kept.signal
        if isinstance(step.after, TurnState):
            turn = step.after
            asked = signal.question if isinstance(signal, s.TurnReplied) else asked
        else:
            jobs[step.kept.owner] = _facts(jobs.get(step.kept.owner), step.after, signal)
        if turn is None:
            continue  # a job that the message joins has begun before it
        derived = status.derive(turn, asked, [jobs[job] for job in listed if job in jobs])
        step.status = derived.status
        reached = message_event(shown, (derived.status, derived.final))
        shown = (derived.status, derived.final)
        if step.kept.owner in listed and _role(history, step.kept.owner) is JobRole.FOLLOW_UP:
            step.events = []
        if reached is not None:
            step.events.insert(0, reached)
        step.problem = _match_events(step, left)
    return derived


def _role(history: History, job_id: str) -> JobRole:
    return next(link.role for link in history.links if link.job.id == job_id)


def _facts(
    before: status.JobFacts | None, state: JobState, signal: s.TurnSignal | s.JobSignal | None
) -> status.JobFacts:
    reason: Reason | None = VIEWS[state].reason
    if isinstance(signal, s.StartRefused):
        reason = signal.reason
    question = before.question if before else None
    if isinstance(signal, s.Finished):
        question = signal.question
    return status.JobFacts(state, reason, question)


def _match_events(step: Step, left: list[KeptEvent]) -> str | None:
    """Take the recorded events of the step; a problem where one says something else."""
    for name in step.events:
        job_id = step.kept.owner if name.startswith("job.") else None
        for event in left:
            if (event.name, event.job_id, event.at) != (name, job_id, step.kept.at):
                continue
            left.remove(event)
            step.sent.append(event.name)
            assert step.after is not None
            said = VIEWS[step.after].status if isinstance(step.after, JobState) else None
            expected = step.status if job_id is None else said
            if event.status != expected:
                return f"event {event.id} ({name}) says {event.status!r}, expected {expected!r}"
            break
    return None


def _rest(history: History, steps: Sequence[Step]) -> str | None:
    """Lines and events that follow from no signal, and lines that are missing."""
    known = {step.seq for step in steps}
    for entry in history.entries:
        if entry.seq not in known and not entry.is_reply_file:
            return f"entry {entry.seq} ({entry.type}) follows from no signal"
    gone = history.message.created_at < history.log_from
    first = history.entries[0].seq if history.entries else history.message.seq + 1
    numbers = [first - 1 if gone else 0, *(entry.seq for entry in history.entries)]
    for before, after in pairwise(numbers):
        if after != before + 1:
            return f"the log has no entry {before + 1}"
    if numbers[-1] != history.message.seq:
        return f"the log ends with entry {numbers[-1]}, the message says {history.message.seq}"
    of_files = sum(entry.is_reply_file for entry in history.entries)
    if of_files != history.message.reply_files and not gone:
        return f"{of_files} entries tell of reply files, expected {history.message.reply_files}"
    sent = sum(len(step.sent) for step in steps)
    if sent != len(history.events):
        worth = {
            (step.kept.at, name, step.kept.owner if name.startswith("job.") else None)
            for step in steps
            for name in step.sent
        }
        extra = [e for e in history.events if (e.at, e.name, e.job_id) not in worth]
        event = (extra or list(history.events))[0]
        return f"event {event.id} ({event.name}) follows from no signal"
    return None


def _wrong_rows(
    history: History, steps: Sequence[Step], derived: status.Derived | None
) -> str | None:
    """How the rows of the message and its jobs differ from where the signals lead."""
    message = history.message
    if derived is None:
        return "the message has no signal"
    by_owner: dict[str, list[Step]] = {}
    for step in steps:
        by_owner.setdefault(step.kept.owner, []).append(step)
    expected = {
        "turn_state": by_owner[message.id][-1].after,
        "reply": _reply(by_owner[message.id]),
        "status": derived.status,
        "reason": derived.reason,
        "question": derived.question,
        "final": int(derived.final),
    }
    for name, value in expected.items():
        if getattr(message, name) != value:
            return _stands(f"the message's {name}", getattr(message, name), value)
    for link in history.links:
        taken = by_owner.get(link.job.id)
        if taken is None:
            return f"job {link.job.id} has no signal"
        for name, value in _job_fields(taken).items():
            if getattr(link.job, name) != value:
                return _stands(f"{name} of job {link.job.id}", getattr(link.job, name), value)
    return None


def _stands(what: str, found: object, expected: object) -> str:
    plain = [str(value) if isinstance(value, str) else value for value in (found, expected)]
    return f"{what} is {plain[0]!r}, expected {plain[1]!r}"


def _reply(steps: Sequence[Step]) -> str | None:
    """What the agent said in its turn."""
    for step in steps:
        if isinstance(step.kept.signal, s.TurnReplied):
            parts = (step.kept.signal.reply, step.kept.signal.question)
            return "\n\n".join(part for part in parts if part) or None
    return None


def _job_fields(steps: Sequence[Step]) -> dict[str, Any]:
    """The fields of a job that follow from its signals."""
    fields: dict[str, Any] = {
        "state": steps[-1].after,
        "result": None,
        "question": None,
        "step": None,
        "reason": None,
        "recover_requests": 0,
    }
    for step in steps:
        match step.kept.signal:
            case s.Progressed(step=named):
                fields["step"] = named
            case s.Finished(text=text, question=question):
                fields["result"], fields["question"] = text, question
            case s.Failed(text=text):
                fields["result"] = text
            case s.StartRefused(reason=reason):
                fields["reason"] = reason
            case s.Recovered():
                fields["recover_requests"] += 1
    return fields
