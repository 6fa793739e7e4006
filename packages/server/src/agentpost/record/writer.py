"""The one writer of the record: a signal comes in, everything that follows is written at once.

`apply_turn` and `apply_job` fold a signal through `record.transitions`, write the new state, append
the log entry to every message concerned, derive each message's status again, add events to the
outbox, keep the signal, and wake the waiting calls after the commit (design: One record and one
writer).

Locks are taken in one order: conversation, account, jobs (by id), messages (by id). Callers that
move credits or slots lock the account before they come here.
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.contract.shape import dumps
from agentpost.db.session import NO_FILES, Tx
from agentpost.domain.errors import Fenced
from agentpost.domain.limits import FILE_UNLISTED_KEEP_SECONDS
from agentpost.domain.times import seconds
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import EXECUTING, OPEN_JOBS, VIEWS, JobRole, JobState
from agentpost.messages import rows as message_rows, status_rules
from agentpost.messages.rules import OPEN_TURNS
from agentpost.messages.shapes import FileFacts
from agentpost.nodes import poison_rules
from agentpost.record import lifecycle, rows as record_rows, signals as s, transitions
from agentpost.record.events import Entry, EntryType, EventName, message_event
from agentpost.record.records import EntryRecord, FileRecord, JobLink, JobRecord, MessageRecord
from agentpost.webhooks import outbox


# --- messages and turns ---------------------------------------------------------------------------
def create_message(tx: Tx, message: MessageRecord) -> bool:
    """A message is accepted, its turn begun or waiting. False: its idempotency key is taken."""
    signal = s.TurnQueued() if message.turn_began_at is None else s.TurnBegun()
    message.turn_state = transitions.fold(None, signal).after
    message.version = message.state_version = 1
    if not record_rows.insert_message(tx, message):
        return False
    if isinstance(signal, s.TurnQueued):  # that its turn begins with it, the message says
        record_rows.keep_signal(tx, message.id, signal, message.created_at)
    return True


# Changes of no state, which need nothing else. Counting a call is not a signal: it writes no entry,
# and the call is in the journal. `apply_job` would cost the hot path a lock and a row for each.
count_call = record_rows.count_call
free_idempotency_key = record_rows.free_idempotency_key
set_answered = record_rows.set_answered
set_output = record_rows.set_output


def expire(tx: Tx, message: MessageRecord, now: int) -> None:
    """A locked message is gone for its readers, as after its retention."""
    record_rows.set_expiry(tx, message.id, now)


def close_window(tx: Tx, message: MessageRecord, now: int) -> None:
    """The POST of a locked message is answered while its turn goes on; earlier than planned when
    the clock was set back, the key ended or the client hung up."""
    if message.reply_deadline > now:
        message.reply_deadline = now
        record_rows.set_reply_deadline(tx, message.id, now)


def apply_turn(
    tx: Tx,
    ctx: AppContext,
    message: MessageRecord,
    signal: s.TurnSignal,
    now: int,
    links: list[JobLink] | None = None,
) -> None:
    """Fold a signal into a locked message's turn. ``message`` is brought up to date.

    Fields that come with the signal but are no state (inputs, deadlines, owner) are set on
    ``message`` by the caller beforehand. ``links``: the message's jobs, where the caller knows
    them, and that neither they nor the message have files. Raises `RuleBroken`, `Fenced`.
    """
    change = transitions.fold(message.turn_state, signal)
    message.turn_state = change.after
    match signal:
        case s.TurnReplied():
            texts = (signal.reply, signal.question)  # design: How a turn ends
            message.reply = "\n\n".join(filter(None, texts)) or None
            message.asked = signal.question
            message.updated_at = now
            message.turn_node = None
        case s.TurnBroken() | s.BusyTimedOut() | s.BusyRefused():
            message.updated_at = now
            message.turn_node = None
            tx.after(partial(ctx.counters.turns_failed.add, lifecycle.failure(signal)))
        case s.Resent():
            message.updated_at = message.created_at
        case s.TurnBegun():
            record_rows.set_turn_no(tx, message.id, message.turn_no)
        case s.TurnReclaimed() if message.turn_deaths:
            record_rows.set_turn_deaths(
                tx, message.id, message.turn_deaths, message.turn_retried_at
            )
    files: list[FileRecord] = []
    if change.entry is not None and change.entry.with_files and message.reply_files:
        files = [f for f in message_rows.files(tx, message.id) if f.job_id is None]
    if change.after not in OPEN_TURNS:
        message.turn_inputs_json = None  # read by runs of the turn only, and most of the row
    is_visible = not isinstance(signal, s.TurnBegun | s.TurnReclaimed)
    line = _line(change.entry, files, None)
    _settle(tx, ctx, message, line, None, now, visible_change=is_visible, links=links)
    if change.after not in OPEN_TURNS and links is None and (message.reply_files or message.jobs):
        _release_unlisted_files(tx, now, message.id)
    if line is None or not isinstance(signal, s.TurnReplied):  # what was replied, the entry says
        record_rows.keep_signal(tx, message.id, signal, now)
    lifecycle.turn_ended(tx, message, signal, now)


def set_max_credits(tx: Tx, ctx: AppContext, message: MessageRecord, amount: int, now: int) -> None:
    """What the work of a locked message may use, in millionths; its jobs were locked before it."""
    message.max_credits = amount
    _settle(tx, ctx, message, None, None, now, visible_change=False)


def add_notes(tx: Tx, ctx: AppContext, message: MessageRecord, notes: list[str], now: int) -> None:
    """Problems with attachments are known now (spec: createMessage 4)."""
    message.notes_json = json.dumps(notes)
    _settle(tx, ctx, message, None, None, now, visible_change=False)


def add_reply_file(tx: Tx, ctx: AppContext, message: MessageRecord, file: FileRecord) -> None:
    """A turn wrote a file: it belongs to the reply."""
    work_rows.put_file(tx, file)
    message.reply_files += 1
    landed = transitions.file_written(s.FileWritten(file.name))
    _settle(
        tx, ctx, message, landed, None, file.created_at, visible_change=False, work_id=file.work_id
    )


# --- jobs -----------------------------------------------------------------------------------------
def create_job(
    tx: Tx,
    ctx: AppContext,
    job: JobRecord,
    signal: s.Admitted | s.ShortOfCredits | s.StartRefused,
    message: MessageRecord,
) -> None:
    """A turn starts a job: it runs, waits for credits or is refused."""
    now = job.created_at
    change = transitions.fold(None, signal)
    job.state = change.after
    match signal:
        case s.Admitted():
            job.started_at = now
            job.watch_by = now + seconds(ctx.settings.watch_seconds)
            job.node = ctx.engine.dispatch(tx, job.id, 1)
            job.epoch = 0 if job.node is None else 1  # the first who claims it owns it at 1
        case s.ShortOfCredits():
            job.credits_needed = signal.needed
            job.ceiling, job.waits_until = signal.ceiling, signal.waits_until
            job.queue_by = now + seconds(ctx.settings.queue_wait_seconds)
        case s.StartRefused():
            job.reason = signal.reason
            job.settled_at = now
    record_rows.insert_job(tx, job)
    tx.facts.add((NO_FILES, job.id))
    message.jobs += 1
    _settle(tx, ctx, message, None, job, now, visible_change=True)
    if change.event is not None:
        outbox.job_changed(tx, ctx, change.event, message, job, now)
    record_rows.keep_signal(tx, job.id, signal, now)
    lifecycle.job_created(tx, job)


def join(tx: Tx, ctx: AppContext, message: MessageRecord, job: JobRecord, now: int) -> None:
    """A message joins a job that another one started: from now on it follows it."""
    if record_rows.link_job(tx, message.id, job.id, JobRole.FOLLOW_UP, now):
        message.jobs += 1
        _settle(tx, ctx, message, None, None, now, visible_change=True)


def apply_job(
    tx: Tx,
    ctx: AppContext,
    job_id: str,
    signal: s.JobSignal,
    now: int,
    *,
    epoch: int | None = None,
    state_json: str | None = None,
    locked: JobRecord | None = None,
) -> JobRecord:
    """Fold a signal into a job and into every message that lists it.

    Args:
        epoch: given by a runner: raises `Fenced` unless it still owns the job.
        state_json: JSON of the work's memory, saved when the job ends.
        locked: the job, where the caller has locked it in this transaction.
    Raises:
        RuleBroken: the job's state has no row for the signal.
        Fenced: see ``epoch``.
    """
    job = locked or job_rows.lock(tx, job_id)
    if job is None or (epoch is not None and not _owns(job, epoch)):
        raise Fenced(f"job {job_id} is not ours any more")
    if isinstance(signal, s.Recovered):
        signal = replace(signal, text=job.result or "")
    change = transitions.fold(job.state, signal)
    state_before, epoch_before = job.state, job.epoch
    started_before = job.started_at is not None
    job.state = change.after
    _change_fields(tx, ctx, job, signal, now)
    record_rows.update_job(tx, job, state_before, epoch_before)
    if isinstance(signal, s.Finished | s.Failed):
        _save_work(tx, job, state_json, now)
    has_unlisted = _update_messages(tx, ctx, job, change, now)
    if change.before in OPEN_JOBS and change.after not in OPEN_JOBS:
        if has_unlisted:
            _release_unlisted_files(tx, now, job.message_id, job.work_id)
        tx.after(partial(ctx.counters.jobs_ended.add, job.state.value))
    record_rows.keep_signal(tx, job.id, signal, now)
    lifecycle.job_changed(tx, job, state_before, signal, now, again=started_before)
    return job


def _change_fields(tx: Tx, ctx: AppContext, job: JobRecord, signal: s.JobSignal, now: int) -> None:
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


def release_job(tx: Tx, ctx: AppContext, job_id: str, epoch: int, node: str | None = None) -> bool:
    """Let go of a job of a node, by default this one, and dispatch it again; False when it has
    ended or moved on."""
    if not record_rows.release_ownership(tx, job_id, epoch, node or ctx.node):
        return False
    ctx.engine.dispatch(tx, job_id, epoch)
    return True


def release_ownership(tx: Tx, ctx: AppContext) -> None:
    """Release the jobs of this node, which stops in order. None of them can have killed it, so the
    next owner does not count them as taken from a dead node (design: Ownership)."""
    for job_id, epoch in sorted(job_rows.executing_on(tx, ctx.node).items()):
        release_job(tx, ctx, job_id, epoch)


def spend(tx: Tx, ctx: AppContext, job_id: str, epoch: int, amount: int, now: int) -> None:
    """Add charged credits (millionths) to the job and tell its messages; raises `Fenced`. After the
    watch the message is final: until somebody recovers it, only the ledger knows."""
    job = job_rows.lock(tx, job_id)
    if job is None or not _owns(job, epoch):
        raise Fenced(f"job {job_id} is not ours any more")
    tx.after(partial(ctx.counters.credits_charged.add, "", amount))
    if job.state is JobState.OVERDUE:
        return
    job.credits_used += amount
    record_rows.update_job(tx, job, job.state, epoch)
    message = message_rows.lock(tx, job.message_id)
    if message is not None:
        _settle(tx, ctx, message, None, None, now, visible_change=False)


def _owns(job: JobRecord, epoch: int) -> bool:
    return job.epoch == epoch and job.state in EXECUTING


def _save_work(tx: Tx, job: JobRecord, state_json: str | None, now: int) -> None:
    """Save the job's text, question and memory in its work."""
    if state_json is None:
        work = work_rows.get(tx, job.work_id, job.account_id)
        state_json = work.state_json if work else "{}"
    work_rows.save_result(tx, job.work_id, job.result or "", job.question, state_json, now)


def _update_messages(
    tx: Tx, ctx: AppContext, job: JobRecord, change: transitions.Change[JobState], now: int
) -> bool:
    """Update every message of the job: its log, its status, its events. False: neither the message
    that started it nor its work has files that were replaced and may be due."""
    before = change.before
    visible_change = before is None or VIEWS[before] != VIEWS[change.after]
    if change.entry is None and not visible_change:
        return True
    entry, has_unlisted = change.entry, True
    listing = message_rows.lock_all_of(tx, job.id, job.work_id)
    if entry is not None:
        has_files = entry.with_files and (NO_FILES, job.id) not in tx.facts
        entry = _line(entry, job_rows.files(tx, job.id) if has_files else [], job)
    for message, may_be_due in listing:
        _settle(tx, ctx, message, entry, job, now, visible_change=visible_change)
        if message.id == job.message_id:
            has_unlisted = may_be_due
            if change.event is not None:
                outbox.job_changed(tx, ctx, change.event, message, job, now)
    return has_unlisted


# --- what all of them share -----------------------------------------------------------------------
def _settle(
    tx: Tx,
    ctx: AppContext,
    message: MessageRecord,
    entry: Entry | None,
    job: JobRecord | None,
    now: int,
    *,
    visible_change: bool,
    work_id: str | None = None,
    links: list[JobLink] | None = None,
) -> None:
    """Append the entry, derive the status from the current jobs, write, send, wake. ``job``: whose
    change it is, None: the message's own. ``visible_change``: a held read is to answer (status,
    reply or a job's status may have changed). ``links``: see `apply_turn`."""
    version_before = message.version
    if entry is not None:
        message.seq += 1
        work_id, job_id = (job.work_id, job.id) if job else (work_id, None)
        body = dumps(entry.fields)
        line = EntryRecord(message.id, message.seq, entry.type, now, body, work_id, job_id)
        record_rows.append_entry(tx, line)
    files: list[FileRecord] | None = None if links is None else []
    if job is not None and message.jobs == 1 and job.message_id == message.id:  # as most often
        links = [JobLink(job, JobRole.EXECUTION)]
        files = [] if (NO_FILES, job.id) in tx.facts else None
    if links is None:
        links = message_rows.links(tx, message.id) if message.jobs else []
    event = _derive(ctx, message, links)
    message.version += 1
    if visible_change or event is not None:
        message.state_version += 1
    record_rows.update_message(tx, message, version_before)
    snapshot = partial(message_rows.snapshot_of, tx, message, links, files)
    ctx.handover.offer(tx, message.id, snapshot)
    ctx.wakeups.publish(tx, message.id, message.account_id)  # who reads it, and open pages
    if event is not None:
        outbox.message_changed(tx, ctx, event, message, snapshot, now)


def _release_unlisted_files(tx: Tx, now: int, message_id: str, work_id: str = "") -> None:
    work_rows.release_unlisted_files(
        tx, now + seconds(FILE_UNLISTED_KEEP_SECONDS), message_id, work_id
    )


# --- what is derived ------------------------------------------------------------------------------
def _derive(ctx: AppContext, message: MessageRecord, links: list[JobLink]) -> EventName | None:
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


def _line(entry: Entry | None, files: list[FileRecord], job: JobRecord | None) -> Entry | None:
    """Complete a log line with what the tables do not know: title and files."""
    if entry is None:
        return None
    fields: dict[str, Any] = dict(entry.fields)
    if job is not None and entry.type is EntryType.RESULT:
        fields = {"title": job.title, **fields}
    if entry.with_files:
        fields["files"] = [FileFacts.of(f) for f in files]
    return Entry(entry.type, fields)
