"""Starting a job from a turn: admission, the work it runs in, the row (spec: Transitions)."""

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from agentpost.agents import values
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.credits import ceilings
from agentpost.credits.rules import WorkCeilings, admission
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import Fenced
from agentpost.domain.limits import TITLE_CHARACTERS_MAX
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import JobKind, JobRole, JobState, Reason
from agentpost.limits.allowances import allowances_of
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnState
from agentpost.record import history, journal_rows, signals as s, writer
from agentpost.record.journal_rules import Call
from agentpost.record.records import (
    ConversationRecord,
    JobLink,
    JobRecord,
    MessageRecord,
    WorkRecord,
)
from agentpost.record.tickets import JobTicket, TurnTicket
from agentpost.transactions import write_transaction
from agentpost.turns import conversation_rows

_BY_START = attrgetter("job.created_at", "job.id")


@dataclass(frozen=True, slots=True)
class Start:
    """A job to start: its function ``module:qualname`` and arguments as recorded JSON."""

    fn: str
    args_json: str
    title: str
    work_id: str | None


@write_transaction
def start_job(
    tx: Tx, ctx: AppContext, ticket: TurnTicket, call: Call, start: Start
) -> dict[str, str | None]:
    """Start, queue or refuse a job; never raises for credits or the cap (agent rule 5). The answer
    of `Turn.start` as it is recorded. Raises `Fenced`, and `LookupError` when ``start.work_id`` is
    no work of the account."""
    now, confirmed_at = ctx.clock.now(), ctx.lease.now()
    start_row = message_rows.lock_starting(tx, ticket.latest[0])
    if start_row is None:
        raise Fenced(f"the turn of {ticket.message.id} is not ours any more")
    message, account = _check_owner(ticket, start_row.message), start_row.account
    slots = allowances_of(ctx.settings, account.limits_json).running_jobs
    limits = WorkCeilings(message.id, message.key_id, message.max_credits, start_row.per_day)
    left = ceilings.within(tx, account, limits, now)
    reason = admission(
        hosting_fees_due=bool(account.hosting_fees_due),
        executing=start_row.executing,
        slots=slots,
        available=left.left,
    )
    work_id, state_json = _work_for(tx, ticket, start, reason, now)
    job = _new_job(ticket, start, work_id, reason, now)
    signal: s.Admitted | s.ShortOfCredits | s.StartRefused
    if reason is None:
        signal = s.Admitted()
        said, schema = history.said_by(tx, message), message.response_schema_json
        more = (message.traceparent, state_json, confirmed_at, schema, ticket.has_returned)
        job_ticket = JobTicket(job, 1, {}, said, *more)
        # Before it is dispatched.
        tx.after(partial(ctx.handover.put_job, job_ticket, ctx.node))
    elif reason is Reason.OUT_OF_CREDITS:
        signal = ceilings.short(1, left, now)
    else:
        signal = s.StartRefused(reason)
        if reason is Reason.TOO_MANY_RUNNING:
            job.running_json = values.dump(
                [
                    {"job_id": j.id, "message_id": j.message_id, "work_id": j.work_id}
                    for j in job_rows.executing(tx, account.id, slots)
                ]
            )
    links = ticket.links_of(message)
    writer.create_job(tx, ctx, job, signal, message)
    if links is not None:  # in their order (`messages.rows.links`)
        links = sorted([*links, JobLink(job, JobRole.EXECUTION)], key=_BY_START)
    if ctx.settings.durability == "full":  # else PostgreSQL may forget it, and give out its version
        tx.after(partial(setattr, ticket, "latest", (message, links)))
    answer = _answer_of(job)
    journal_rows.put(tx, message.id, replace(call, value=values.dump(answer)), now)
    return answer


def fence(tx: Tx, ticket: TurnTicket) -> tuple[MessageRecord, bool]:
    """The message, locked, if its turn is still ours; and whether another turn waits in its
    conversation, if that is locked. Raises `Fenced`."""
    message, waits = message_rows.lock_known(tx, ticket.latest[0])
    return _check_owner(ticket, message), waits


def _check_owner(ticket: TurnTicket, message: MessageRecord | None) -> MessageRecord:
    """The locked message, if its turn is still ours; raises `Fenced`."""
    if (
        message is None
        or message.turn_epoch != ticket.epoch
        or message.turn_state is not TurnState.RUNNING
    ):
        raise Fenced(f"the turn of {ticket.message.id} is not ours any more")
    return message


def _work_for(
    tx: Tx, ticket: TurnTicket, start: Start, reason: Reason | None, now: int
) -> tuple[str, str]:
    """The work the job runs in, and its memory: a given one, a new one, or home for a refused
    start, which runs nothing."""
    message = ticket.message
    if start.work_id is not None:
        work = work_rows.lock(tx, start.work_id, message.account_id)
        if work is None:
            raise LookupError(f"there is no work {start.work_id}")
        return work.id, work.state_json
    if reason not in (None, Reason.OUT_OF_CREDITS):
        return home_of(tx, conversation_rows.lock(tx, message.conversation_id), now), "{}"
    if not ticket.has_works:
        conversation_rows.count_work(tx, message.conversation_id)
    account_id, conversation_id = message.account_id, message.conversation_id
    return _open_work(tx, account_id, conversation_id, start.title, now), "{}"


def home_of(tx: Tx, conversation: ConversationRecord, now: int) -> str:
    """The conversation's home work, made when first needed (design: Conversations)."""
    if conversation.home_work_id is None:
        title = conversation.name or "Conversation"
        account_id, its_id = conversation.account_id, conversation.id
        conversation.home_work_id = _open_work(tx, account_id, its_id, title, now, home=1)
        conversation_rows.set_home(tx, conversation.id, conversation.home_work_id)
    return conversation.home_work_id


def _open_work(
    tx: Tx, account_id: str, conversation_id: str, title: str, now: int, *, home: int = 0
) -> str:
    work = WorkRecord(
        id=new_id(ids.WORK, now),
        account_id=account_id,
        conversation_id=conversation_id,
        title=title[:TITLE_CHARACTERS_MAX],
        home=home,
        created_at=now,
        updated_at=now,
    )
    work_rows.WORKS.insert_unchecked(tx, work)
    return work.id


def _new_job(
    ticket: TurnTicket, start: Start, work_id: str, reason: Reason | None, now: int
) -> JobRecord:
    runs = reason in (None, Reason.OUT_OF_CREDITS)
    return JobRecord(
        id=new_id(ids.JOB if runs else ids.REFUSAL, now),
        account_id=ticket.message.account_id,
        conversation_id=ticket.message.conversation_id,
        message_id=ticket.message.id,
        work_id=work_id,
        kind=JobKind.EXECUTION if runs else JobKind.REFUSAL,
        title=start.title[:TITLE_CHARACTERS_MAX],
        fn=start.fn,
        args_json=start.args_json,
        created_at=now,
    )


def _answer_of(job: JobRecord) -> dict[str, str | None]:
    words = {JobState.RUNNING: "running", JobState.QUEUED: "queued"}
    state = words.get(job.state, "refused")
    reason = Reason.OUT_OF_CREDITS if state == "queued" else job.reason
    reason_value = None if reason is None else reason.value
    return {"job_id": job.id, "work_id": job.work_id, "state": state, "reason": reason_value}
