"""The fields of a job that a signal changes besides its state; `record.writer` writes them."""

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import seconds
from agentpost.jobs.rules import JobState
from agentpost.nodes import poison_rules
from agentpost.record import signals as s
from agentpost.record.records import JobRecord


def apply(tx: Tx, ctx: AppContext, job: JobRecord, signal: s.JobSignal, now: int) -> None:
    """Set the job's fields that a signal changes besides the state."""
    match signal:
        case s.Progressed():
            job.step = signal.step
            job.calls += not signal.in_step
        case s.CodeChanged():
            job.step = signal.text
            job.diverged_at, job.divergence = job.diverged_at or now, signal.text
            watch_time = ctx.settings.code_changed_wait_seconds + ctx.settings.watch_seconds
            job.watch_by = max(job.watch_by or 0, job.diverged_at + seconds(watch_time))
            job.takeovers, job.calls_at_takeover = 0, job.calls  # no death from now on is its own
        case s.CodeFits():
            job.diverged_at = job.divergence = None
        case s.FileWritten():
            job.calls += 1
        case s.Finished():
            job.result, job.question = signal.text, signal.question
            job.diverged_at = job.divergence = None
            job.answer_format_json = signal.answer_format
            job.settled_at, job.node = now, None
        case s.Failed():
            job.result = signal.text
            job.settled_at, job.node = now, None
        case s.Stopped():
            job.settled_at, job.node = now, None
            ctx.engine.abort(tx, job.id)
        case s.ShortOfCredits():
            job.credits_needed, job.node = signal.needed, None
            job.ceiling, job.waits_until = signal.ceiling, signal.waits_until
            if job.state is JobState.QUEUED:
                job.queue_by = now + seconds(ctx.settings.queue_wait_seconds)
            else:
                job.settled_at = now
        case s.CeilingRaised():
            job.ceiling = None
        case s.QueueTimedOut():
            job.settled_at = now
        case s.WatchTimedOut():
            job.watch_by = now  # what comes later belongs to a recover
        case s.Resumed():
            job.queue_by, job.started_at = None, job.started_at or now
            job.ceiling = job.waits_until = None
            job.watch_by = job.watch_by or now + seconds(ctx.settings.watch_seconds)
            job.calls_at_takeover, job.takeovers = job.calls, 0
            job.epoch += 1
            job.node = ctx.engine.dispatch(tx, job.id, job.epoch)
        case s.JobReclaimed():
            if job.node is None:  # it was handed over in order: that is no death
                job.takeovers = deaths_before(job)
            elif job.node != ctx.node:
                job.takeovers = deaths(job)
            if job.node != ctx.node:  # else it was lost by a fault of ours
                job.calls_at_takeover = job.calls
            job.epoch, job.node = job.epoch + 1, ctx.node
        case s.StepInterrupted():
            job.takeovers, job.calls_at_takeover = deaths(job), job.calls
        case s.Recovered():
            job.recover_requests += 1
            job.credits_used = account_rows.charged_for(tx, job.id)
            if job.state is JobState.RUNNING:
                job.watch_by = now + seconds(ctx.settings.watch_seconds)
        case s.Admitted() | s.StartRefused():
            raise AssertionError("these make a job; see create_job")


def deaths(job: JobRecord) -> int:
    """Its deaths in a row without a newly recorded call, with the one that is being dealt with."""
    return poison_rules.deaths_in_a_row(job.takeovers, has_got_further=_has_got_further(job))


def deaths_before(job: JobRecord) -> int:
    """The same when it did not die."""
    return 0 if _has_got_further(job) else job.takeovers


def _has_got_further(job: JobRecord) -> bool:
    return job.calls != job.calls_at_takeover
