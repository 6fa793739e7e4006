"""Samples of webhook events, for who builds a receiver: the shape of real ones, made by the same
classes, about things that do not exist. Their ids end in zeros."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from agentpost.contract.shape import Links, Shape, dumps
from agentpost.domain import ids
from agentpost.domain.times import DAY, SECOND
from agentpost.jobs.rules import VIEWS, JobKind, JobRole, JobState
from agentpost.messages import status_rules
from agentpost.messages.rules import TurnState
from agentpost.messages.shapes import MessageShape
from agentpost.record.events import EventName
from agentpost.record.records import FileRecord, JobLink, JobRecord, MessageRecord, Snapshot
from agentpost.webhooks.event_shapes import EventShape, JobEventDataShape

T = TypeVar("T")


_DONE: Final = JobState.COMPLETED
_JOBS: Final[Mapping[str, Sequence[JobState]]] = {
    "completed": (_DONE,),
    "partial": (_DONE, JobState.FAILED),
    "failed": (JobState.FAILED,),
    "needs_input": (),
    "blocked": (JobState.QUEUED,),
    "resumed": (JobState.RUNNING,),
    "expired": (JobState.OVERDUE,),
}
"""By what an event says, the jobs of the message by their states."""
_QUESTION: Final = "Which month should I chart?"
_RESULTS: Final = {
    _DONE: "Charted 12 months.",
    JobState.FAILED: "The work failed unexpectedly.",
}
_MINUTE: Final = 60 * SECOND


def sample_id(prefix: str, n: int = 0) -> str:
    """An id that nothing has: zeros up to its last digit."""
    return f"{prefix}{n:032x}"


def data(name: EventName, now: int, links: Links) -> Shape:
    """The ``data`` of a sample of the event, as if it had happened now (in microseconds)."""
    jobs = [_job(n, state, now) for n, state in enumerate(_JOBS[name.partition(".")[2]])]
    files = [_file(job) for job in jobs if job.state is _DONE]
    message = _message(_QUESTION if name is EventName.MESSAGE_NEEDS_INPUT else None, jobs, now)
    if name.startswith("job."):
        return JobEventDataShape.of_started(jobs[0], message, files, links)
    role = JobRole.EXECUTION
    return MessageShape.of(Snapshot(message, [JobLink(job, role) for job in jobs], files), links)


def event(name: EventName, now: int, links: Links) -> EventShape:
    """The whole sample, as it is sent."""
    return EventShape.of(name, now, dumps(data(name, now, links)), links, is_sample=True)


def _message(question: str | None, jobs: Sequence[JobRecord], now: int) -> MessageRecord:
    facts = [status_rules.JobFacts(job.state, VIEWS[job.state].reason) for job in jobs]
    derived = status_rules.derive(TurnState.ENDED, question, facts)
    return blank(
        MessageRecord,
        id=sample_id(ids.MESSAGE),
        metadata_json='{"order":"1042"}',
        created_at=now - 2 * _MINUTE,
        updated_at=now - 2 * _MINUTE + SECOND,
        notes_json="[]",
        reply=question or "On it.",
        status=derived.status,
        reason=derived.reason,
        question=derived.question,
        final=int(derived.final),
        version=2 + 2 * len(jobs),
    )


def _job(n: int, state: JobState, now: int) -> JobRecord:
    view = VIEWS[state]
    started = now - 2 * _MINUTE + SECOND
    return blank(
        JobRecord,
        id=sample_id(ids.JOB, n),
        work_id=sample_id(ids.WORK, n),
        kind=JobKind.EXECUTION,
        title="Chart revenue by month",
        state=state,
        result=_RESULTS.get(state),
        credits_used=1_500_000 if state is _DONE else 0,
        started_at=None if view.queued else started,
        settled_at=now if view.final else None,
        queue_by=now + DAY if view.queued else None,
        watch_by=now if state is JobState.OVERDUE else started + DAY,
    )


def _file(job: JobRecord) -> FileRecord:
    return blank(
        FileRecord,
        work_id=job.work_id,
        path="revenue.png",
        job_id=job.id,
        name="revenue.png",
        content_type="image/png",
        kind="image",
        size=48_213,
        revision=f'"{0:032x}"',
    )


def blank(record: type[T], /, **values: Any) -> T:
    """A record in which only what clients see is filled in, so that a new field is shown, too."""
    return record(**{**{field.name: None for field in fields(record)}, **values})  # type: ignore[arg-type]
