"""Turns: one at a time per conversation, their inputs frozen, each call recorded.

design: Turns; The journal; One turn at a time; The POST window; How a turn ends. Every write of a
running turn is fenced: it names the epoch at which this node owns the turn and changes nothing in a
later epoch.
"""

from dataclasses import dataclass, replace
from functools import partial

from agentpost.accounts import rows as account_rows
from agentpost.agents import values
from agentpost.blobs import space
from agentpost.context import NODES, AppContext
from agentpost.db.session import Tx
from agentpost.domain.credits import to_credits
from agentpost.domain.times import seconds
from agentpost.jobs import actions as jobs, rows as job_rows
from agentpost.jobs.rules import JobState
from agentpost.jobs.starting import fence, home_of
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnFailure, TurnState
from agentpost.nodes import poison_rules
from agentpost.record import history, journal_rows, lifecycle, signals as s, writer
from agentpost.record.journal_rules import Call
from agentpost.record.records import ConversationRecord, FileRecord, MessageRecord
from agentpost.record.tickets import TurnTicket
from agentpost.transactions import write_transaction
from agentpost.turns import conversation_rows


# --- beginning ------------------------------------------------------------------------------------
def is_free(tx: Tx, conversation: ConversationRecord) -> bool:
    """Whether a turn of the locked conversation may begin: none runs. What the conversation names
    is looked at: a turn that does not run would block it for good."""
    message_id = conversation.turn_message_id
    return message_id is None or not message_rows.turn_runs(tx, message_id)


def begin(
    tx: Tx,
    ctx: AppContext,
    conversation: ConversationRecord,
    message: MessageRecord,
    now: int,
    available: int | None = None,
) -> None:
    """The conversation is free: freeze the turn's inputs and hand it to our runner.

    Sets fields of ``message``; the caller writes it with a `TurnBegun`. ``available``: given where
    the conversation's row names the turn already; the credits that the account has left, in
    millionths.
    """
    if available is None:
        conversation.turns += 1
        conversation.turn_message_id = message.id
        conversation_rows.set_turn(tx, conversation.id, message.id, conversation.turns)
        available = account_rows.get(tx, message.account_id).wallet.available
    message.turn_no = conversation.turns
    message.turn_began_at = now
    running = works = "[]"
    if conversation.works:
        running, works = history.freeze(tx, conversation.id)
    message.turn_inputs_json = (
        f'{{"credits":{to_credits(available)},"running":{running},"state":{conversation.state_json},'
        f'"works":{works}}}'
    )
    _begin(tx, ctx, conversation, message, {})


def _begin(
    tx: Tx,
    ctx: AppContext,
    conversation: ConversationRecord,
    message: MessageRecord,
    calls: dict[int, Call],
) -> None:
    """This node owns the turn from the commit on; while it drains, another one takes it."""
    assert ctx.turns is not None, "this process runs no turns"
    message.turn_epoch += 1
    if ctx.turns_closed:
        message.turn_node = None
        ctx.wakeups.publish(tx, NODES)
        return
    message.turn_node = ctx.node
    ticket = TurnTicket(
        message,
        message.turn_epoch,
        conversation.name,
        latest=(message, None),
        calls=calls,
        confirmed_at=ctx.lease.now(),
        has_works=conversation.works > 0,
    )
    tx.after(partial(ctx.turns.run, ctx, ticket))


def next_turn(tx: Tx, ctx: AppContext, conversation_id: str, now: int) -> None:
    """No turn of the locked conversation runs: begin the next one, in order of acceptance."""
    waiting = message_rows.next_waiting(tx, conversation_id)
    while waiting is not None and waiting.gives_up_at <= now:
        writer.apply_turn(tx, ctx, waiting, s.BusyTimedOut(), now)
        waiting = message_rows.next_waiting(tx, conversation_id)
    if waiting is None:
        return
    begin(tx, ctx, conversation_rows.lock(tx, conversation_id), waiting, now)
    writer.apply_turn(tx, ctx, waiting, s.TurnBegun(), now)


@write_transaction
def expire_wait(tx: Tx, ctx: AppContext, message_id: str, waited_until: int = 0) -> None:
    """A waiting turn's patience is over: the message ends ``agent_busy``; nothing ran.
    ``waited_until``: a deadline that has passed although the clock, set back, does not say so."""
    now = ctx.clock.now()
    by = max(now, waited_until)
    message = message_rows.lock(tx, message_id)
    if message and message.turn_state is TurnState.WAITING and message.gives_up_at <= by:
        writer.apply_turn(tx, ctx, message, s.BusyTimedOut(), now)


@write_transaction
def reclaim(tx: Tx, ctx: AppContext, message_id: str, owner: str | None) -> None:
    """Its node is gone, or is our own and runs nothing of it: run the turn again with the same
    inputs and recorded answers.

    Nothing happens when another node was faster. ``owner`` is None for a turn that waits in a
    conversation where none runs. A turn whose nodes die again and again fails. A suspected one has
    waited to run apart, so its time begins anew (design: Work that ends its process).
    """
    now = ctx.clock.now()
    conversation, message = _lock(tx, message_id)
    if message.turn_state is TurnState.WAITING and is_free(tx, conversation):
        conversation_rows.end_turn(tx, conversation.id)
        next_turn(tx, ctx, conversation.id, now)
    if message.turn_state is not TurnState.RUNNING or message.turn_node != owner:
        return
    if owner not in (None, ctx.node):
        message.turn_deaths += 1
    if poison_rules.is_poison(message.turn_deaths):
        _break(tx, ctx, message, TurnFailure.POISONED, now)
        return
    if owner != ctx.node and poison_rules.is_suspect(message.turn_deaths):
        message.turn_retried_at = now
    if _abandon_late(tx, ctx, message, now):
        return
    _begin(tx, ctx, conversation, message, journal_rows.all_(tx, message.id))
    writer.apply_turn(tx, ctx, message, s.TurnReclaimed(), now)


@write_transaction
def abandon(tx: Tx, ctx: AppContext, message_id: str) -> None:
    """A turn over its limit ends, also when the agent holds up the loop that would notice."""
    now = ctx.clock.now()
    _, message = _lock(tx, message_id)
    if message.turn_state is TurnState.RUNNING:
        _abandon_late(tx, ctx, message, now)


def _abandon_late(tx: Tx, ctx: AppContext, message: MessageRecord, now: int) -> bool:
    """End a turn that runs for too long; its conversation is locked."""
    limit = seconds(ctx.settings.turn_limit_seconds)
    since = message.turn_runs_since
    if since is None or since + limit > now:
        return False
    _break(tx, ctx, message, TurnFailure.ABANDONED, now)
    return True


def _break(tx: Tx, ctx: AppContext, message: MessageRecord, detail: TurnFailure, now: int) -> None:
    writer.apply_turn(tx, ctx, message, s.TurnBroken(detail), now)
    conversation_rows.end_turn(tx, message.conversation_id)
    next_turn(tx, ctx, message.conversation_id, now)


# --- ending ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TurnResult:
    """The agent's reply, and its memory when it changed; what its question asks for, and its
    output."""

    reply: str | None
    question: str | None
    state_json: str | None
    answer_format_json: str | None = None
    output_json: str | None = None


@write_transaction
def end(
    tx: Tx,
    ctx: AppContext,
    ticket: TurnTicket,
    outcome: TurnResult | TurnFailure,
    cause: str | None = None,
) -> None:
    """The agent returned; or the turn broke, ``cause`` says why to the operator, and jobs that it
    started go on. Raises `Fenced`."""
    now = ctx.clock.now()
    conversation_rows.end_turn(tx, ticket.message.conversation_id)
    message, waits = fence(tx, ticket)
    if isinstance(outcome, TurnFailure):
        writer.apply_turn(tx, ctx, message, s.TurnBroken(outcome, cause), now)
    elif _abandon_late(tx, ctx, message, now):
        return  # it held up the loop that would have ended it
    else:
        _reply(tx, ctx, ticket, message, outcome, now)
    if waits:
        next_turn(tx, ctx, message.conversation_id, now)


def _reply(
    tx: Tx,
    ctx: AppContext,
    ticket: TurnTicket,
    message: MessageRecord,
    result: TurnResult,
    now: int,
) -> None:
    # The POST call waits for a turn that has run once only, until its deadline or our closing;
    # it reads through the same lock, so what is said here is what happens (design: The POST
    # window).
    open_door = not ctx.wakeups.closing
    in_time = ticket.epoch == 1 and now < message.reply_deadline and open_door
    signal = s.TurnReplied(result.reply, result.question, delivered_sync=in_time)
    message.answer_format_json = result.answer_format_json
    message.output_json = result.output_json
    links = ticket.links_of(message)
    writer.apply_turn(tx, ctx, message, signal, now, links)
    if result.answer_format_json is not None:
        conversation_rows.set_asking(tx, message.conversation_id, message.id)
    if result.state_json is not None:
        conversation_rows.set_state(tx, message.conversation_id, result.state_json)


# --- recorded calls -------------------------------------------------------------------------------
@write_transaction
def record_call(
    tx: Tx, ctx: AppContext, ticket: TurnTicket, call: Call, file: FileRecord | None = None
) -> None:
    """Record the result of a step; or of a call that has written a file, for the reply, in the
    conversation's home work: its ``work_id`` and the time are filled in here. Raises `Fenced`, and
    `StorageFull`: then nothing happened."""
    now = ctx.clock.now()
    conversation, message = _lock_owned(tx, ticket)
    if file is not None:
        file.work_id, file.created_at = home_of(tx, conversation, now), now
        writer.add_reply_file(tx, ctx, message, file)
        call = replace(call, value=values.dump(history.agent_file(file)))
        lifecycle.file_written(tx, file, call.n)
    journal_rows.put(tx, message.id, call, now)
    if file is not None:
        space.count_written(tx, ctx, file)


@write_transaction
def join_job(
    tx: Tx, ctx: AppContext, ticket: TurnTicket, call: Call, job_id: str, text: str | None
) -> bool:
    """Hand the message to a job of the account; False when it has ended. Raises `Fenced`."""
    now = ctx.clock.now()
    conversation_rows.lock(tx, ticket.message.conversation_id)
    job = job_rows.lock(tx, job_id)
    message, _ = fence(tx, ticket)
    can_join = (
        job is not None
        and job.account_id == message.account_id
        and job.state in (JobState.RUNNING, JobState.QUEUED)
    )
    if can_join and job is not None:
        writer.join(tx, ctx, message, job, now)
        journal_rows.post(tx, job.id, message.id, message.text if text is None else text, now)
        ctx.wakeups.publish(tx, job.id)
    journal_rows.put(tx, message.id, replace(call, value=values.dump(can_join)), now)
    return can_join


@write_transaction
def stop_job(tx: Tx, ctx: AppContext, ticket: TurnTicket, call: Call, job_id: str) -> bool:
    """Stop a job of the account; False when it has ended. Raises `Fenced`."""
    now = ctx.clock.now()
    conversation_rows.lock(tx, ticket.message.conversation_id)
    account = account_rows.lock(tx, ticket.message.account_id)
    stopped = jobs.stop_one(tx, ctx, account, job_id, now)
    fence(tx, ticket)
    journal_rows.put(tx, ticket.message.id, replace(call, value=values.dump(stopped)), now)
    return stopped


# --- parts ----------------------------------------------------------------------------------------
def _lock(tx: Tx, message_id: str) -> tuple[ConversationRecord, MessageRecord]:
    seen_message = message_rows.get(tx, message_id)
    assert seen_message is not None, "a message outlives its turn"
    conversation = conversation_rows.lock(tx, seen_message.conversation_id)
    message = message_rows.lock(tx, message_id)
    assert message is not None
    return conversation, message


def _lock_owned(tx: Tx, ticket: TurnTicket) -> tuple[ConversationRecord, MessageRecord]:
    conversation = conversation_rows.lock(tx, ticket.message.conversation_id)
    return conversation, fence(tx, ticket)[0]
