"""Claim jobs, record their calls, and end, stop or park them.

A runner's writes name the epoch at which the job is its own; with an old one nothing changes and
`Fenced` is raised (design: The journal; Ownership; How a job ends; Credits).
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from agentpost.accounts import rows as account_rows
from agentpost.agents import File, values
from agentpost.blobs import space
from agentpost.context import AppContext
from agentpost.credits import actions as credits, ceilings
from agentpost.credits.actions import Purpose
from agentpost.db.session import Tx
from agentpost.domain.credits import Charge
from agentpost.domain.errors import Fenced, not_found
from agentpost.domain.times import iso
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import (
    CODE_CHANGED_FAILURE,
    EXECUTING,
    POISON_FAILURE,
    JobState,
)
from agentpost.messages import rows as message_rows
from agentpost.nodes import poison_rules
from agentpost.record import history, journal_rows, lifecycle, signals as s, writer
from agentpost.record.journal_rules import Call
from agentpost.record.records import AccountRecord, FileRecord, JobRecord, MessageRecord
from agentpost.record.tickets import JobTicket
from agentpost.transactions import write_transaction
from agentpost.turns import conversation_rows

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A job as its runner names it in every write."""

    job_id: str
    account_id: str
    epoch: int


class OutOfCredits(Exception):
    """The job was parked: its runner stops, a top-up continues it."""


def _may_park(
    function: Callable[Concatenate[Tx, AppContext, JobClaim, P], bool],
) -> Callable[Concatenate[AppContext, JobClaim, P], Coroutine[Any, Any, None]]:
    """`write_transaction` for a function that returns False when it has parked the job: raises
    `OutOfCredits` then."""
    run = write_transaction(function)

    @wraps(function)
    async def use_case(
        ctx: AppContext, claim: JobClaim, /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        if not await run(ctx, claim, *args, **kwargs):
            raise OutOfCredits(claim.job_id)

    return use_case


# --- taking ---------------------------------------------------------------------------------------
async def open_(ctx: AppContext, job_id: str, epoch: int) -> JobTicket | None:
    """What a job that was placed here needs, handed over by the commit that placed it or read;
    None when this node no longer owns it."""
    ticket = ctx.handover.take_job(job_id, epoch)
    return ticket or await ctx.db.read(lambda tx: read(tx, ctx, job_id, epoch))


@write_transaction
def claim(
    tx: Tx,
    ctx: AppContext,
    job_id: str,
    owner: str | None = None,
    *,
    may_be_suspect: bool = True,
) -> JobTicket | None:
    """Claim a job that nobody runs (``owner`` is None), or that a node owns which is dead or, being
    our own, runs nothing of it; None when another was faster.

    A job whose nodes die again and again without recording a call fails (design: Work that ends its
    process). ``may_be_suspect``: False leaves suspected work to the sweep that runs it apart.
    """
    now = ctx.clock.now()
    seen_job = job_rows.get(tx, job_id)
    if seen_job is None or seen_job.state not in EXECUTING:
        return None
    confirmed_at = ctx.lease.now()  # before anything is read that says whose it is
    if not may_be_suspect and poison_rules.is_suspect(writer.deaths_before(seen_job)):
        return None
    may_end = _is_poison(seen_job) and owner not in (None, ctx.node)
    account = account_rows.lock(tx, seen_job.account_id) if may_end else None
    job_rows.lock.prefetch(tx, job_id)
    work_rows.get.prefetch(tx, seen_job.work_id, seen_job.account_id)
    message = message_rows.get(tx, seen_job.message_id)
    job = job_rows.lock(tx, job_id)
    if job is None or job.state not in EXECUTING or job.node != owner:
        return None
    if account is not None and _is_poison(job):
        _end(tx, ctx, account, job_id, s.Failed(POISON_FAILURE), None, None, now)
        return None
    job_after = writer.apply_job(tx, ctx, job_id, s.JobReclaimed(), now, locked=job)
    return make(tx, job_after, message, confirmed_at)


def _is_poison(job: JobRecord) -> bool:
    """Whether this death is one too many since a call was recorded."""
    return poison_rules.is_poison(writer.deaths(job))


# --- recorded calls -------------------------------------------------------------------------------
@_may_park
def record_call(
    tx: Tx,
    ctx: AppContext,
    claim: JobClaim,
    call: Call,
    cost: int = 0,
    charges: Sequence[Charge] = (),
    file: FileRecord | None = None,
) -> bool:
    """Record an answer; a held cost becomes a charge, or is given back on an error. ``charges`` are
    those that the call's body made. A ``file`` that the call has written lands in the work, and the
    log says so.

    Raises `Fenced`; `StorageFull`: then nothing happened; and `OutOfCredits` when charges found
    none: the call is recorded, and the job parked until the rest can be charged (`charge_owed`).
    """
    now = ctx.clock.now()
    account = account_rows.lock(tx, claim.account_id) if cost or charges else None
    if file is None:
        writer.count_call(tx, claim.job_id, claim.epoch)
    else:
        file.created_at, signal = now, s.FileWritten(file.name)
        writer.apply_job(tx, ctx, claim.job_id, signal, now, epoch=claim.epoch)
        work_rows.put_file(tx, file)
        call = replace(call, value=values.dump(history.agent_file(file)))
        lifecycle.file_written(tx, file, call.n)
    if account is not None and cost:
        _settle_hold(tx, ctx, claim, account, call, cost, now)
    journal_rows.put(tx, claim.job_id, call, now)
    is_paid = account is None or _charge_body(tx, ctx, claim, account, call.n, charges, now)
    if file is not None:
        space.count_written(tx, ctx, file)
    return is_paid


@_may_park
def charge_owed(tx: Tx, ctx: AppContext, claim: JobClaim, call_n: int) -> bool:
    """Charge what the body of a recorded call still owes. Raises `Fenced`, `OutOfCredits`."""
    now = ctx.clock.now()
    account = account_rows.lock(tx, claim.account_id)
    writer.count_call(tx, claim.job_id, claim.epoch)
    charges = journal_rows.owed_charges(tx, claim.job_id, call_n)
    journal_rows.forget(tx, claim.job_id, -call_n)
    return _charge_body(tx, ctx, claim, account, call_n, charges, now)


@write_transaction
def note_interruption(tx: Tx, ctx: AppContext, claim: JobClaim, reason: str, failure: str) -> bool:
    """The process ended that ran the job or a function of it. False: too often in a row without a
    newly recorded call; the job has failed with that text (design: Work that ends its process).
    Raises `Fenced`."""
    now = ctx.clock.now()
    account = account_rows.lock(tx, claim.account_id)
    job = job_rows.lock(tx, claim.job_id)
    if job is not None and job.epoch == claim.epoch and _is_poison(job):
        failed = s.Failed(failure, reason)
        _end(tx, ctx, account, claim.job_id, failed, claim.epoch, None, now)
        return False
    signal = s.StepInterrupted(reason)
    writer.apply_job(tx, ctx, claim.job_id, signal, now, epoch=claim.epoch)
    return True


@_may_park
def hold(tx: Tx, ctx: AppContext, claim: JobClaim, call: Call, cost: int) -> bool:
    """Hold a step's cost before it runs. Raises `OutOfCredits` (the job is parked) and `Fenced`."""
    now = ctx.clock.now()
    account = account_rows.lock(tx, claim.account_id)
    left = ceilings.for_job(tx, account, claim.job_id, now)
    if cost > left.left:
        _park(tx, ctx, claim, account, cost, now)
        return False
    is_enough = credits.hold(tx, account, cost, Purpose(claim.job_id, call.n), now)
    assert is_enough, "there are as many as are left"
    writer.count_call(tx, claim.job_id, claim.epoch)
    journal_rows.put(tx, claim.job_id, call, now)
    return True


@_may_park
def charge(tx: Tx, ctx: AppContext, claim: JobClaim, call: Call, amount: int, note: str) -> bool:
    """Charge for work already done. Raises `OutOfCredits` (parked) and `Fenced`."""
    now = ctx.clock.now()
    account = account_rows.lock(tx, claim.account_id)
    purpose = Purpose(claim.job_id, call.n, note)
    left = ceilings.for_job(tx, account, claim.job_id, now)
    charged = credits.charge_done(tx, account, amount, left.left, purpose, now)
    if charged is None:
        _park(tx, ctx, claim, account, 1, now)
        return False
    writer.spend(tx, ctx, claim.job_id, claim.epoch, charged, now)
    writer.count_call(tx, claim.job_id, claim.epoch)
    journal_rows.put(tx, claim.job_id, call, now)
    return True


@write_transaction
def progress(tx: Tx, ctx: AppContext, claim: JobClaim, call: Call | None, step: str) -> None:
    """Tell what the job does now; ``call`` is None when the body of a step does, so that nothing is
    recorded as a call. Raises `Fenced`."""
    now = ctx.clock.now()
    signal = s.Progressed(step, in_step=call is None)
    writer.apply_job(tx, ctx, claim.job_id, signal, now, epoch=claim.epoch)
    if call is not None:
        journal_rows.put(tx, claim.job_id, call, now)


@write_transaction
def code_changed(tx: Tx, ctx: AppContext, claim: JobClaim, text: str, cause: str) -> int:
    """The job waits for its code (see `signals.CodeChanged`); since when (microseconds). What was
    told already is not told again. Raises `Fenced`."""
    job = job_rows.lock(tx, claim.job_id)
    is_new = job is None or job.divergence != text
    if job is None or is_new or job.takeovers or job.epoch != claim.epoch:
        signal = s.CodeChanged(text, cause, is_new)
        now = ctx.clock.now()
        job = writer.apply_job(tx, ctx, claim.job_id, signal, now, epoch=claim.epoch, locked=job)
    assert job.diverged_at is not None, "the signal sets it"
    return job.diverged_at


@write_transaction
def code_fits(tx: Tx, ctx: AppContext, claim: JobClaim) -> None:
    """The job has made the recorded calls, and waits for its code no longer. Raises `Fenced`."""
    writer.apply_job(tx, ctx, claim.job_id, s.CodeFits(), ctx.clock.now(), epoch=claim.epoch)


@write_transaction
def set_output(tx: Tx, ctx: AppContext, claim: JobClaim, call: Call, output_json: str) -> None:
    """Record the job's output. Raises `Fenced`."""
    writer.set_output(tx, claim.job_id, claim.epoch, output_json)
    journal_rows.put(tx, claim.job_id, call, ctx.clock.now())


@write_transaction
def read_inbox(
    tx: Tx, ctx: AppContext, claim: JobClaim, call: Call, after: int, *, keep_empty: bool
) -> str | None:
    """Record the follow-ups since number ``after``; None when there are none (and not kept). The
    recorded value: ``{"last": n, "said": [[message_id, text, at], …]}``. Raises `Fenced`."""
    now = ctx.clock.now()
    follow_ups = journal_rows.inbox(tx, claim.job_id, after, 100)
    if not follow_ups and not keep_empty:
        return None
    lines = [[message_id, text, iso(at)] for _, message_id, text, at in follow_ups]
    value = values.dump({"last": follow_ups[-1][0] if follow_ups else after, "said": lines})
    writer.count_call(tx, claim.job_id, claim.epoch)
    journal_rows.put(tx, claim.job_id, replace(call, value=value), now)
    return value


async def list_files(ctx: AppContext, ticket: JobTicket) -> list[File]:
    """The message's attachments and the work's files, as they are now."""
    files = await ctx.db.read(lambda tx: work_rows.files(tx, ticket.job.work_id))
    return [*ticket.message.files, *(history.agent_file(f) for f in files)]


# --- ending ---------------------------------------------------------------------------------------
@write_transaction
def end(
    tx: Tx,
    ctx: AppContext,
    claim: JobClaim,
    signal: s.Finished | s.Failed,
    state_json: str | None = None,
) -> None:
    """The job's function returned, or raised; ``state_json``: what the memory of its work is now,
    None: what it was. Raises `Fenced`."""
    asks = isinstance(signal, s.Finished) and signal.answer_format is not None
    job = job_rows.get(tx, claim.job_id) if asks else None
    if job is not None:
        conversation_rows.lock(tx, job.conversation_id)  # before the account, as everywhere
        conversation_rows.set_asking(tx, job.conversation_id, job.message_id)
    account_rows.lock_only(tx, claim.account_id)
    _end(tx, ctx, None, claim.job_id, signal, claim.epoch, state_json, ctx.clock.now())


def _end(
    tx: Tx,
    ctx: AppContext,
    account: AccountRecord | None,
    job_id: str,
    signal: s.Finished | s.Failed | s.Stopped,
    epoch: int | None,
    state_json: str | None,
    now: int,
) -> None:
    """The job is over: its holds go back and its slot is passed on. ``account``: None if not read.

    Passed on first: a message whose queued job takes the slot in this commit never stops processing
    (no event may name a status that nobody could read).
    """
    job, concerns_others = job_rows.lock_ending(tx, job_id)
    if job is not None and concerns_others:
        account = account or account_rows.lock(tx, job.account_id)
        credits.release_all(tx, account, job_id, now)
        if job.state in EXECUTING:
            credits.resume_queued(tx, ctx, account, now, slots_freed=1)
    writer.apply_job(tx, ctx, job_id, signal, now, epoch=epoch, state_json=state_json, locked=job)


def _park(
    tx: Tx, ctx: AppContext, claim: JobClaim, account: AccountRecord, needed: int, now: int
) -> None:
    """Too few credits (millionths): the job leaves its slot until there are enough.

    What it held for steps in flight it will need again: counting only the last one, the credits
    given back here would resume it at once, into the same shortage.
    """
    left = ceilings.for_job(tx, account, claim.job_id, now)
    given_back = credits.release_all(tx, account, claim.job_id, now)
    journal_rows.forget_held(tx, claim.job_id)
    job_rows.lock(tx, claim.job_id)
    credits.resume_queued(tx, ctx, account, now, slots_freed=1)
    short = ceilings.short(needed + given_back, left, now)
    writer.apply_job(tx, ctx, claim.job_id, short, now, epoch=claim.epoch)


def _charge_body(
    tx: Tx,
    ctx: AppContext,
    claim: JobClaim,
    account: AccountRecord,
    call_n: int,
    charges: Sequence[Charge],
    now: int,
) -> bool:
    """Charge what a call's body has done; False: the job is parked, and owes what is left. The body
    has run and is recorded, so it is not run again for the credits it found too late."""
    total = 0
    left: Sequence[Charge] = ()
    for n, one in enumerate(charges):
        purpose = Purpose(claim.job_id, call_n, one.note)
        headroom = ceilings.for_job(tx, account, claim.job_id, now)
        charged = credits.charge_done(tx, account, one.amount, headroom.left, purpose, now)
        if charged is None:
            left = charges[n:]
            break
        total += charged
    if total:
        writer.spend(tx, ctx, claim.job_id, claim.epoch, total, now)
    if left:
        journal_rows.put_owed(tx, claim.job_id, call_n, left, now)
        _park(tx, ctx, claim, account, 1, now)
    return not left


def _settle_hold(
    tx: Tx,
    ctx: AppContext,
    claim: JobClaim,
    account: AccountRecord,
    call: Call,
    cost: int,
    now: int,
) -> None:
    """The held step ended: its cost is charged, or given back when it raised. Raises `Fenced`. The
    caller has checked that this node still owns the job: else the hold is gone already."""
    # Raises `Fenced` when a crash of the database took the hold back: with ``normal`` durability
    # PostgreSQL may forget its last commits, while the step that they pay for runs.
    if ctx.settings.durability == "normal" and account_rows.held_for(tx, claim.job_id) < cost:
        raise Fenced(claim.job_id)
    purpose = Purpose(claim.job_id, call.n)
    if call.state == "error":
        credits.release(tx, account, cost, purpose, now)
        return
    credits.charge_held(tx, account, cost, purpose, now)
    writer.spend(tx, ctx, claim.job_id, claim.epoch, cost, now)


# --- stopping -------------------------------------------------------------------------------------
def stop_one(tx: Tx, ctx: AppContext, account: AccountRecord, job_id: str, now: int) -> bool:
    """Stop a job of the account, running or queued; False when it has ended."""
    job = job_rows.lock(tx, job_id)
    if job is None or job.account_id != account.id:
        return False
    if job.state not in (JobState.RUNNING, JobState.QUEUED, JobState.OVERDUE):
        return False
    _end(tx, ctx, account, job_id, s.Stopped(), None, None, now)
    return True


# --- jobs that wait for their code, by an operator's word -----------------------------------------
@write_transaction
def retry_waiting(tx: Tx, ctx: AppContext, job_id: str) -> None:
    """Run a job that waits for its code again now, on any node. Raises ``not_found``, and
    `ValueError` when it does not wait for that."""
    job = _waiting_for_code(tx, job_id)
    if job.node is not None:
        writer.release_job(tx, ctx, job.id, job.epoch, job.node)


@write_transaction
def fail_waiting(tx: Tx, ctx: AppContext, job_id: str) -> None:
    """Fail a job that waits for its code, as after its time to wait. Raises as `retry_waiting`."""
    account = account_rows.lock(tx, _waiting_for_code(tx, job_id).account_id)
    job = _waiting_for_code(tx, job_id)
    failed = s.Failed(CODE_CHANGED_FAILURE, job.divergence)
    _end(tx, ctx, account, job_id, failed, None, None, ctx.clock.now())


def _waiting_for_code(tx: Tx, job_id: str) -> JobRecord:
    job = job_rows.lock(tx, job_id)
    if job is None:
        raise not_found("job")
    if job.diverged_at is None or job.state not in EXECUTING:
        raise ValueError(f"the job {job_id} does not wait for its code")
    return job


def read(tx: Tx, ctx: AppContext, job_id: str, epoch: int) -> JobTicket | None:
    """Of a job that this node owns at ``epoch``; None when it does not any more."""
    confirmed_at = ctx.lease.now()  # before anything is read: a stop in between must show
    job = job_rows.get(tx, job_id)
    if job is None or job.epoch != epoch or job.state not in EXECUTING:
        return None
    return make(tx, job, message_rows.get(tx, job.message_id), confirmed_at)


def make(tx: Tx, job: JobRecord, message: MessageRecord | None, confirmed_at: float) -> JobTicket:
    """Of a job that is this node's, and the message that started it; ``confirmed``: see
    `JobTicket`."""
    assert message is not None, "a message outlives its jobs"
    work = work_rows.get(tx, job.work_id, job.account_id)
    calls = journal_rows.all_(tx, job.id) if job.calls else {}
    state_json = work.state_json if work else "{}"
    return JobTicket(
        job,
        job.epoch,
        calls,
        history.said_by(tx, message),
        message.traceparent,
        state_json,
        confirmed_at,
        message.response_schema_json,
    )
