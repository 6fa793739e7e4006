"""Sending a message, from what the caller gave to the stored row and the answer of the call.

The steps, top-down: `admit` counts the message and stores its files, while the door holds its body;
`send` takes it in with `accept`, one transaction, and waits until its turn has ended. A call that
repeats another by its idempotency key gets that one's message instead; so does one of a client that
repeats calls without a key, by the key that its message was given (`idempotency_rules.Attempt`).
(spec: createMessage; design: One turn at a time; The POST window; Idempotency)
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from agentpost.accounts import admission, rows as account_rows
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids, limits
from agentpost.domain.errors import (
    ErrorCode,
    InvalidRequest,
    Problem,
    RateLimited,
    Refusal,
    not_found,
)
from agentpost.domain.times import seconds
from agentpost.following.held_calls import HungUp
from agentpost.following.long_polls import until_turn_ends
from agentpost.messages import rows as message_rows
from agentpost.messages.idempotency_rules import Attempt, topic_prefix
from agentpost.messages.new_messages import (
    NewMessage,
    check,
    check_conversation,
    conversation_of,
    message_of,
    window_of,
)
from agentpost.messages.rules import OPEN_TURNS, TurnState, WhenBusy
from agentpost.questions import answers
from agentpost.questions.answers import Answering
from agentpost.record import history_rows, lifecycle, reading, signals as s, writer
from agentpost.record.records import ConversationRecord, MessageRecord, Snapshot
from agentpost.transactions import read_transaction, write_transaction
from agentpost.turns import actions as turns, conversation_rows
from agentpost.uploads import actions as uploads, attachments
from agentpost.uploads.attachments import InlineFile
from agentpost.webhooks import endpoint_rows

CANDIDATES_MAX = 50
"""Messages of one topic that are looked at: where more are equal, the newest ones."""


class Overtaken(Refusal):
    """Another message stands behind the one that this one was to follow."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.IDEMPOTENCY_CONFLICT, "The conversation has gone on meanwhile.")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The message that stands for a call. ``is_new`` is False for an idempotent replay;
    ``is_rearmed``: the replay gave a busy message another chance. ``snapshot``: a new message as it
    was accepted, for a call that does not wait."""

    message: MessageRecord
    is_new: bool
    is_rearmed: bool = False
    snapshot: Snapshot | None = None


async def admit(ctx: AppContext, caller: Caller, new: NewMessage) -> NewMessage | Acceptance:
    """Count the message and store its files, which it holds no longer; or find the message that
    this call repeats.

    A repeated call counts for nothing, so it is answered though the account is at its limit, or has
    to name conversations by now. For a message without files that is found out by the transaction
    that takes it in.

    Raises ``invalid_request`` for a message without a conversation where one is required,
    `RateLimited`, and `Refusal` for files that cannot be stored and for a
    ``response_schema`` that cannot be used; a message with such a schema counts, since the check
    is dear.
    """
    if new.idempotency_key is not None or new.attempt is not None:
        if new.files and new.idempotency_key is not None:
            identities = await asyncio.to_thread(_identities, new.files)
            new = replace(new, file_identities=identities)
        is_repeat = new.attempt is not None and new.attempt.count > 0
        replay = await find_replay(ctx, caller, new) if new.files or is_repeat else None
        if replay is not None:
            return replay
    try:
        check_conversation(caller, new)
        decision = await admission.message(ctx, caller)
    except (InvalidRequest, RateLimited):
        replay = await find_replay(ctx, caller, new)
        if replay is None:
            raise
        return replay
    if new.response_schema is not None:  # it counts, also when it is refused
        schema = await answers.check_schema(
            ctx, caller.account_id, new.response_schema, is_stored=bool(new.scheduled)
        )
        new = replace(new, usable_schema=schema)
    if not new.files:
        return replace(new, counted=decision)
    try:
        attached = await attachments.store(ctx, new.files)
    except BaseException:
        await admission.unsent(ctx, caller, decision)
        raise
    return replace(new, files=(), attached=attached, counted=decision)


def _identities(files: Sequence[InlineFile]) -> tuple[dict[str, str | None], ...]:
    return tuple(file.identity() for file in files[: limits.INLINE_FILES_MAX])


async def send(
    ctx: AppContext, caller: Caller, admitted: NewMessage | Acceptance, hung_up: HungUp
) -> tuple[Snapshot, bool]:
    """Take the message in and hold the call until its turn has ended, or its window is over.
    Returns the message and whether it is new: it is not when the call is an idempotent replay.

    A replay answers at once with the message as it is, unless it re-armed a busy message: then it
    is held like the first call.

    Raises as `accept`, and `KeyEnded` once the message is accepted.
    """
    if isinstance(admitted, Acceptance):
        return await _answer_replay(ctx, caller, admitted, hung_up)
    message_id = new_id(ids.MESSAGE, ctx.clock.now())
    # It begins before the message exists, so nothing of it is missed.
    with ctx.held_calls.hold(caller.holds, message_id, hung_up, stays=True) as wait:
        acceptance = await accept(ctx, caller, admitted, message_id)
        if acceptance.is_new:
            message, snapshot = acceptance.message, acceptance.snapshot
            return snapshot or await until_turn_ends(ctx, message, wait), True
    return await _answer_replay(ctx, caller, acceptance, hung_up)


async def post(
    ctx: AppContext, caller: Caller, new: NewMessage, message_id: str | None = None
) -> MessageRecord:
    """Check the message and take it in without waiting for its turn. ``message_id`` is a fresh one,
    for a caller that listens to it already. A message that the call repeats has another. Raises
    what `POST /v1/messages` refuses, `RateLimited`, `Overloaded` and `Overtaken`."""
    if not new.scheduled:
        ctx.intake.check(caller.account_id)
    if new.response_schema is None and new.answer is None:
        check(new)
    else:  # they may have thousands of values
        await ctx.account_threads.run(caller.account_id, partial(check, new))
    admitted = await admit(ctx, caller, new)
    if isinstance(admitted, Acceptance):
        return admitted.message
    message_id = message_id or new_id(ids.MESSAGE, ctx.clock.now())
    return (await accept(ctx, caller, admitted, message_id)).message


async def _answer_replay(
    ctx: AppContext, caller: Caller, replay: Acceptance, hung_up: HungUp
) -> tuple[Snapshot, bool]:
    """The answer to a call whose message was there already: see `send`."""
    message_id = replay.message.id
    with ctx.held_calls.hold(caller.holds, message_id, hung_up, stays=True) as wait:
        snapshot = await reading.get_settled(ctx, message_id)
        if replay.is_rearmed and snapshot.message.turn_state in OPEN_TURNS:
            snapshot = await until_turn_ends(ctx, snapshot.message, wait)
    return snapshot, False


async def find_replay(ctx: AppContext, caller: Caller, new: NewMessage) -> Acceptance | None:
    """The message that holds the key, before anything is decoded or stored; may refuse.

    Decides as `accept` does: a busy message gets its other chance here, and ``is_rearmed`` says so
    to this one call only. None leaves it to `accept`, in the transaction that takes the key.
    """
    if new.idempotency_key is None and new.attempt is None:
        return None
    return await ctx.db.write(lambda tx: _replay(tx, ctx, caller, new, ctx.clock.now()))


async def accept(ctx: AppContext, caller: Caller, new: NewMessage, message_id: str) -> Acceptance:
    """Take the message in; its turn begins with the commit when the conversation is free.

    ``message_id`` is fresh, so the caller can listen for it before it exists. When no message was
    made, it does not count, and its stored files are removed. Not after a fault: a commit whose
    answer was lost may have made it; files that were not recorded are deleted within a day.

    Raises `Refusal`: ``idempotency_conflict``, ``not_found`` (webhook endpoint, ``answer_to``),
    ``upload_not_ready``, ``too_large`` (uploads), ``invalid_request`` (``answer``),
    and `Overloaded`, see `Intake.check`; `Overtaken`. A refused message attaches nothing.
    """
    # The HTTP request in whose course this is called; the transaction may run on another thread.
    request = structlog.contextvars.get_contextvars().get("request_id")
    account_id = caller.account_id
    answer: Answering | None = None
    try:
        if new.answer_to is not None:
            answer = await answers.answer_to_named(
                ctx, caller, new.answer_to, new.conversation_id, new.text, new.answer
            )
        while True:
            take_in = partial(_take_in, ctx, caller, new, message_id, answer, request)
            try:
                outcome = await ctx.intake.store(account_id, take_in, refusing=not new.scheduled)
            except _KeyTaken:
                continue  # another call with the key committed in between: the next try finds it
            if isinstance(outcome, Acceptance):
                break
            asking = outcome.asking_message_id
            assert asking is not None
            answer = await answers.answer_to_previous(ctx, asking, outcome.id, new.text)
    except Refusal:
        await _undo(ctx, caller, new)
        raise
    if not outcome.is_new:
        await _undo(ctx, caller, new)
    return outcome


async def _undo(ctx: AppContext, caller: Caller, new: NewMessage) -> None:
    if new.counted is not None:
        await admission.unsent(ctx, caller, new.counted)
    if new.attached is not None:
        await attachments.discard(ctx, new.attached)


@write_transaction
def _take_in(
    tx: Tx,
    ctx: AppContext,
    caller: Caller,
    new: NewMessage,
    message_id: str,
    answer: Answering | None,
    request: str | None,
) -> Acceptance | ConversationRecord:
    """One try to take the message in, as ``answer`` if it is one. Returns the conversation, and
    writes nothing, when it asks a question that the text was not compared with."""
    now = ctx.clock.now()
    if answer is not None and answer.refusal is not None:
        if (replay := _replay(tx, ctx, caller, new, now)) is None:
            raise answer.refusal
        return replay
    started = None
    if not (answer or new.idempotency_key or new.attempt or new.conversation_id):
        # In one statement, since nothing has to be looked at before.
        started = conversation_rows.begin_turn(tx, caller.key_id, new.conversation, message_id)
    conversation, available = started or (_conversation(tx, caller, new, answer, now), None)
    if started is None and (replay := _replay(tx, ctx, caller, new, now)) is not None:
        return replay
    asking = conversation.asking_message_id
    if asking is not None and not (answer and (answer.is_named or answer.message_id == asking)):
        return conversation
    message = _message(tx, ctx, caller, new, conversation, answer, message_id, now)
    if started is not None or turns.is_free(tx, conversation):
        turns.begin(tx, ctx, conversation, message, now, available)
    else:
        _not_held(message, now)
    is_first = new.attempt is None or _take_key(tx, message, new.attempt)
    if not (is_first and writer.create_message(tx, message)):
        raise _KeyTaken
    if message.turn_state is TurnState.WAITING and new.busy is WhenBusy.FAIL:
        writer.apply_turn(tx, ctx, message, s.BusyRefused(), now)
    lifecycle.message_accepted(tx, message, request)
    # What comes after this commit is not in the answer, and the log says so.
    at_once = message_rows.snapshot(tx, message) if window_of(ctx, new) == 0 else None
    return Acceptance(message, is_new=True, snapshot=at_once)


def check_endpoint(tx: Tx, caller: Caller, endpoint_id: str | None) -> None:
    """Raise ``not_found`` for a webhook endpoint that is not one of the caller's account."""
    if endpoint_id is not None and not endpoint_rows.exists(tx, endpoint_id, caller.account_id):
        raise not_found("webhook endpoint")


def _message(
    tx: Tx,
    ctx: AppContext,
    caller: Caller,
    new: NewMessage,
    conversation: ConversationRecord,
    answer: Answering | None,
    message_id: str,
    now: int,
) -> MessageRecord:
    """The message's row with what comes with it: what it answers, its uploads, and its files as
    they were stored."""
    if new.webhook_endpoint_id is not None:
        check_endpoint(tx, caller, new.webhook_endpoint_id)
    message = message_of(ctx, caller, new, conversation, message_id, now)
    if answer is not None:
        message.text = answer.text or message.text
        message.answer_json = answers.take(tx, conversation, answer, message.id)
    if new.upload_ids:
        for upload in uploads.attach(tx, message.account_id, new.upload_ids, message.id, now):
            history_rows.ATTACHMENTS.insert(tx, upload)
    if new.attached is not None:
        attachments.attach(tx, ctx, message, new.attached)
    return message


class _KeyTaken(Exception):
    """Lost the race for an idempotency key; rolls the transaction back."""


def _replay(
    tx: Tx, ctx: AppContext, caller: Caller, new: NewMessage, now: int
) -> Acceptance | None:
    """The message that holds the key (spec: createMessage 2; design: One turn at a time;
    Idempotency).
    """
    if new.attempt is not None:
        earlier = _find_attempt(tx, caller.key_id, new.attempt, now)
        return None if earlier is None else Acceptance(earlier, is_new=False)
    if new.idempotency_key is None:
        return None
    holder = message_rows.by_idempotency_key(tx, caller.key_id, new.idempotency_key)
    if holder is None:
        return None
    kept_until = holder.created_at + seconds(ctx.settings.idempotency_seconds)
    if min(kept_until, holder.expires_at) <= now:
        writer.free_idempotency_key(tx, holder.id)
        return None
    if holder.fingerprint != new.fingerprint():
        raise Refusal(
            ErrorCode.IDEMPOTENCY_CONFLICT,
            "This Idempotency-Key was used with another body within the last seven days.",
        )
    is_busy = holder.turn_state is TurnState.BUSY
    if is_busy:
        _rearm(tx, ctx, holder, new, now)
    return Acceptance(holder, is_new=False, is_rearmed=is_busy)


def _find_attempt(tx: Tx, key_id: str, attempt: Attempt, now: int) -> MessageRecord | None:
    """The message that stands for the attempt; None: it is to make one."""
    newest = message_rows.highest_of_prefix(tx, key_id, attempt.prefix)
    return newest if newest is not None and _is_of(attempt, newest, now) else None


def _take_key(tx: Tx, message: MessageRecord, attempt: Attempt) -> bool:
    """Give a new message the next key of its attempt. False: a message that stands for the attempt
    has been committed since `_find_attempt`."""
    newest = message_rows.highest_of_prefix(tx, message.key_id, attempt.prefix)
    if newest is not None and _is_of(attempt, newest, message.created_at):
        return False
    message.idempotency_key = attempt.key_after(newest.idempotency_key if newest else None)
    message.fingerprint = attempt.fingerprint
    return True


def _is_of(attempt: Attempt, newest: MessageRecord, now: int) -> bool:
    is_there = newest.expires_at > now
    return is_there and attempt.is_of(newest.fingerprint, newest.created_at, now)


def _not_held(message: MessageRecord, now: int) -> None:
    """Nobody holds a call for a message that is queued."""
    if message.queue_patience is not None:
        message.reply_deadline = now


def _rearm(tx: Tx, ctx: AppContext, message: MessageRecord, new: NewMessage, now: int) -> None:
    """A busy message sent again: the same message gets another chance (design: One turn at a
    time).
    """
    conversation = conversation_rows.lock(tx, message.conversation_id)
    message.turn_wait_deadline = now + seconds(ctx.settings.busy_wait_seconds)
    message.reply_deadline = now + window_of(ctx, new)
    is_free = turns.is_free(tx, conversation)
    if not is_free:
        _not_held(message, now)
    writer.apply_turn(tx, ctx, message, s.Resent(), now)
    if is_free:
        turns.begin(tx, ctx, conversation, message, now)
        writer.apply_turn(tx, ctx, message, s.TurnBegun(), now)
    elif new.busy is WhenBusy.FAIL:
        writer.apply_turn(tx, ctx, message, s.BusyRefused(), now)


def _conversation(
    tx: Tx, caller: Caller, new: NewMessage, answer: Answering | None, now: int
) -> ConversationRecord:
    """The message's conversation, locked; made when it is named for the first time."""
    account_rows.get.prefetch(tx, caller.account_id)  # for a turn that begins
    if answer is not None and answer.is_named and answer.conversation_id is not None:
        conversation = conversation_rows.lock(tx, answer.conversation_id)
        if new.conversation and new.conversation != conversation.name:
            raise InvalidRequest(Problem("conversation", "the question is of another one"))
        return conversation
    if new.conversation_id is not None:
        conversation = conversation_rows.lock(tx, new.conversation_id)
        # Raise `Overtaken` unless the message, if there is one, is the last one of the locked
        # conversation.
        if new.follows is not None and message_rows.is_followed(tx, conversation.id, new.follows):
            raise Overtaken
        return conversation
    make = partial(conversation_of, caller, new, now)
    return conversation_rows.open_(tx, caller.key_id, new.conversation, make)


@read_transaction
def last_ones(tx: Tx, ctx: AppContext, caller: Caller, topic: str) -> Sequence[Snapshot]:
    """The messages of a topic that nothing follows in their conversations, newest first."""
    now = ctx.clock.now()
    candidates = message_rows.of_prefix(tx, caller.key_id, topic_prefix(topic), CANDIDATES_MAX)
    return [
        message_rows.snapshot(tx, message)
        for message in sorted(candidates, key=lambda each: each.id, reverse=True)
        if message.expires_at > now
        and not message_rows.is_followed(tx, message.conversation_id, message.id)
    ]
