"""One log line for each thing that happens to a message, a job or a file (docs/logs.md).

A line belongs to a commit: it is written once after the commit, even if the caller is gone, and
never for a transaction that was rolled back or retried. Lines have ids, durations and reasons; no
text of a message, a file or an error.
"""

from functools import partial
from typing import Final

from agentpost.db.session import Tx
from agentpost.domain.credits import to_credits
from agentpost.domain.times import iso
from agentpost.jobs.rules import OPEN_JOBS, VIEWS, JobState, Reason
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnState
from agentpost.observability import traces
from agentpost.observability.logging import line
from agentpost.observability.traces import Trace
from agentpost.record import signals as s
from agentpost.record.records import FileRecord, JobRecord, MessageRecord
from agentpost.webhooks.endpoint_rules import Attempted
from agentpost.webhooks.records import EndpointRecord

_MILLISECOND: Final = 1_000


def log_after(tx: Tx, event: str, **fields: object) -> None:
    """Log a line at info once the transaction is committed.

    It has these fields and no others: on which thread a commit is completed, and so which context
    variables are set there, differs from database to database.
    """
    tx.after(partial(line, event, fields))


def message_accepted(tx: Tx, message: MessageRecord, request: str | None) -> None:
    """A message was accepted; ``request`` is the id of the HTTP request that brought it."""
    log_after(
        tx,
        "message_accepted",
        **_message_ids(message),
        request_id=request,
        files=message.attachments,
        waiting=message.turn_state is TurnState.WAITING,
    )


def turn_ended(tx: Tx, message: MessageRecord, signal: s.TurnSignal, now: int) -> None:
    """A turn ended, or a message waited too long for one; nothing for any other signal."""
    outcome: str
    reason: str | None = None
    match signal:
        case s.TurnReplied():
            outcome = "asked" if signal.question else "replied"
        case s.TurnBroken():
            outcome, reason = "failed", failure(signal)
        case s.BusyTimedOut() | s.BusyRefused():
            outcome, reason = "busy", failure(signal)
        case _:
            return
    log_after(
        tx,
        "turn_ended",
        **_message_ids(message),
        outcome=outcome,
        reason=reason,
        jobs=message.jobs,
        runs=message.turn_epoch,
        ms=_ms(message.turn_began_at, now),
    )
    trace = traces.sampled(message.id, message.traceparent)
    if trace is not None:
        tx.after(partial(_message_span, trace, message, outcome, reason, now))


def _message_span(
    trace: Trace, message: MessageRecord, outcome: str, reason: str | None, now: int
) -> None:
    """From its acceptance to the end of its turn, and the turn in it."""
    ids, about = _message_ids(message), (message.id,)
    attributes = {**ids, "outcome": outcome}
    times = (message.created_at, now)
    traces.record(trace, traces.MESSAGE, about, trace.parent, "message", times, attributes, reason)
    if message.turn_began_at is not None:
        attributes["runs"] = message.turn_epoch
        parent = traces.span_id(traces.MESSAGE, message.id)
        times = (message.turn_began_at, now)
        traces.record(trace, traces.TURN, about, parent, "turn", times, attributes, reason)


def failure(signal: s.TurnBroken | s.BusyTimedOut | s.BusyRefused) -> str:
    """Why a turn failed, in one word."""
    return signal.detail.value if isinstance(signal, s.TurnBroken) else Reason.AGENT_BUSY.value


def job_created(tx: Tx, job: JobRecord) -> None:
    """A turn asked for a job: it runs, waits for credits, or was refused."""
    match job.state:
        case JobState.RUNNING:
            log_after(tx, "job_started", **_job_ids(job), queued_ms=0)
        case JobState.QUEUED:
            _job_queued(tx, job)
        case _:
            log_after(tx, "job_refused", **_job_ids(job), reason=job.reason)


def job_changed(
    tx: Tx, job: JobRecord, before: JobState, signal: s.JobSignal, now: int, *, again: bool
) -> None:
    """A signal was folded into a job; ``again``: it had been started before."""
    if before in OPEN_JOBS and job.state not in OPEN_JOBS:
        log_after(
            tx,
            "job_ended",
            **_job_ids(job),
            outcome=job.state.value,
            reason=VIEWS[job.state].reason,
            calls=job.calls,
            runs=job.epoch,
            credits_used=to_credits(job.credits_used),
            ms=_ms(job.started_at, now),
        )
        if traces.is_on():
            _job_span(tx, job, now)
        return
    match signal:
        case s.ShortOfCredits():
            _job_queued(tx, job)
        case s.Resumed() if again:
            log_after(tx, "job_resumed", **_job_ids(job), calls=job.calls, epoch=job.epoch)
        case s.Resumed():
            log_after(tx, "job_started", **_job_ids(job), queued_ms=_ms(job.created_at, now))
        case s.JobReclaimed():
            fields = {"epoch": job.epoch, "node": job.node, "takeovers": job.takeovers}
            log_after(tx, "job_reclaimed", **_job_ids(job), calls=job.calls, **fields)
        case s.WatchTimedOut():
            log_after(tx, "job_overdue", **_job_ids(job), ms=_ms(job.started_at, now))
        case s.Recovered():
            log_after(tx, "job_recovered", **_job_ids(job), state=job.state.value)


def _job_span(tx: Tx, job: JobRecord, now: int) -> None:
    """From its start to its end, whatever it waited for meanwhile."""
    trace = traces.sampled(job.message_id, message_rows.traceparent(tx, job.message_id))
    if trace is None:
        return
    view = VIEWS[job.state]
    attributes = {
        **_job_ids(job),
        "outcome": job.state.value,
        "calls": job.calls,
        "runs": job.epoch,
    }
    span = partial(
        traces.record,
        trace,
        traces.JOB,
        (job.id,),
        traces.span_id(traces.TURN, job.message_id),
        f"job {job.fn}",
        (job.started_at or job.created_at, now),
        attributes,
        view.reason,
    )
    tx.after(span)


def file_written(tx: Tx, file: FileRecord, call: int) -> None:
    """A job's or turn's call wrote a file."""
    log_after(
        tx,
        "file_written",
        file_id=file.file_id,
        account_id=file.account_id,
        message_id=file.message_id,
        job_id=file.job_id,
        call=call,
        content_type=file.content_type,
        bytes=file.size,
    )


def delivery_failed(
    tx: Tx, attempt: Attempted, account_id: str, next_attempt_at: int | None
) -> None:
    """An attempt to deliver an event failed; without a next one the delivery is given up."""
    fields = {
        "event_id": attempt.claimed.event_id,
        "event_name": attempt.claimed.event.name,
        "endpoint_id": attempt.claimed.endpoint_id,
        "account_id": account_id,
        "status_code": attempt.status_code,
        "reason": attempt.error,
        "ms": attempt.ms,
        "attempt": attempt.claimed.attempts + 1,
    }
    if next_attempt_at is None:
        log_after(tx, "delivery_given_up", **fields)
    else:
        log_after(tx, "delivery_failed", **fields, next_attempt_at=iso(next_attempt_at))


def endpoint_disabled(tx: Tx, endpoint: EndpointRecord, reason: str | None, dropped: int) -> None:
    """A webhook endpoint went from on to off; ``dropped`` deliveries were pending."""
    log_after(
        tx,
        "endpoint_disabled",
        endpoint_id=endpoint.id,
        account_id=endpoint.account_id,
        reason=reason,
        dropped=dropped,
    )


def _job_queued(tx: Tx, job: JobRecord) -> None:
    amount = to_credits(job.credits_needed or 0)
    reason = Reason.OUT_OF_CREDITS.value
    log_after(tx, "job_queued", **_job_ids(job), reason=reason, credits_needed=amount)


def _message_ids(message: MessageRecord) -> dict[str, object]:
    return {
        "message_id": message.id,
        "account_id": message.account_id,
        "key_id": message.key_id,
        "conversation_id": message.conversation_id,
    }


def _job_ids(job: JobRecord) -> dict[str, object]:
    return {
        "job_id": job.id,
        "message_id": job.message_id,
        "account_id": job.account_id,
        "conversation_id": job.conversation_id,
        "work_id": job.work_id,
        "function": job.fn,
    }


def _ms(since: int | None, now: int) -> int | None:
    return None if since is None else (now - since) // _MILLISECOND
