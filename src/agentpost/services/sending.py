"""Sending a message, from what the caller gave to the stored row and the answer of the call.

The steps, top-down: `admit` counts the message and stores its files, while the door holds its body;
`send` takes it in with `accept`, one transaction, and waits until its turn has ended. A call that
repeats another by its idempotency key gets that one's message instead.
(spec: createMessage; design: One turn at a time; The POST window; Idempotency)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

from agentpost.clock import new_id
from agentpost.db import conversations, endpoints
from agentpost.db import history as history_rows
from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import idempotency, ids
from agentpost.domain import signals as s
from agentpost.domain.errors import ErrorCode, KeyEnded, RateLimited, Refusal, not_found
from agentpost.domain.idempotency import Verdict
from agentpost.domain.message import OPEN_TURNS, TurnState
from agentpost.domain.records import ConversationRecord, MessageRecord, Snapshot
from agentpost.domain.times import SECOND, seconds
from agentpost.ratelimit.base import RateDecision
from agentpost.services import (
    admission,
    attachments,
    lifecycle,
    messages,
    record,
    turns,
    uploads,
)
from agentpost.services.attachments import Attached, InlineFile
from agentpost.services.context import AppContext
from agentpost.services.long_poll import HungUp, held
from agentpost.services.messages import Caller
from agentpost.services.transactions import write_transaction
from agentpost.wakeups.base import Wait


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as the door understood it; text trimmed, limits checked."""

    text: str
    fingerprint: str
    conversation: str = ""
    idempotency_key: str | None = None
    metadata: dict[str, str] | None = None
    traceparent: str | None = None
    webhook_endpoint_id: str | None = None
    upload_ids: tuple[str, ...] = ()
    """Different ones, in the order named."""
    conversation_id: str | None = None
    """One of the account, instead of the one that is named."""
    held: bool = True
    """Whether a call waits for the answer. Else the message waits for its turn as long as the turn
    before it may take."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message that stands for the call.

    ``fresh`` is False for an idempotent replay; ``rearmed``: the replay gave a busy message another
    chance.
    """

    message: MessageRecord
    fresh: bool
    rearmed: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The answer to a POST: ``fresh`` is False for an idempotent replay."""

    snapshot: Snapshot
    fresh: bool


@dataclass(frozen=True, slots=True)
class Admitted:
    """A new message that counts against its account's limits, its inline files stored."""

    new: NewMessage
    decision: RateDecision
    attached: Attached


async def admit(
    ctx: AppContext, caller: Caller, new: NewMessage, files: list[InlineFile]
) -> Admitted | Accepted:
    """Count the message and store its files; or find the message this call repeats.

    A repeated call counts for nothing, so it is answered though the account is at its limit. For a
    message without files that is found out by the transaction that takes it in.

    Raises `RateLimited`, and `Refusal` for files that cannot be stored.
    """
    replayed = await find_replay(ctx, caller, new) if files else None
    if replayed is not None:
        return replayed
    try:
        decision = await admission.message(ctx, caller)
    except RateLimited:
        replayed = await find_replay(ctx, caller, new)
        if replayed is None:
            raise
        return replayed
    try:
        attached = await attachments.store(ctx, files) if files else Attached()
    except BaseException:
        await admission.unsent(ctx, caller, decision)
        raise
    return Admitted(new, decision, attached)


async def send(
    ctx: AppContext, caller: Caller, admitted: Admitted | Accepted, hung_up: HungUp
) -> Sent:
    """Take the message in and hold the call until its turn has ended, or its window is over.

    A replay answers at once with the message as it is, unless it re-armed a busy message: then it
    is held like the first call. When no message was made, it does not count, and its stored files
    are removed. Not after a fault: a commit whose answer was lost may have made it; files that were
    not recorded are deleted within a day. Nor when the key ended while the call was held: by then
    the message was there.

    Raises as `accept`, and `KeyEnded` once the message is accepted.
    """
    if isinstance(admitted, Accepted):
        return await _answer_replay(ctx, caller, admitted, hung_up)
    try:
        sent = await _accept_and_wait(ctx, caller, admitted, hung_up)
    except KeyEnded:
        raise
    except Refusal:
        await _undo(ctx, caller, admitted)
        raise
    if not sent.fresh:
        await _undo(ctx, caller, admitted)
    return sent


async def post(ctx: AppContext, caller: Caller, admitted: Admitted | Accepted) -> MessageRecord:
    """Take the message in without waiting for its turn; raises as `accept`."""
    if isinstance(admitted, Accepted):
        return admitted.message
    message_id = new_id(ids.MESSAGE, ctx.clock.now())
    try:
        accepted = await accept(ctx, caller, admitted.new, admitted.attached, message_id)
    except Refusal:
        await _undo(ctx, caller, admitted)
        raise
    if not accepted.fresh:
        await _undo(ctx, caller, admitted)
    return accepted.message


async def _undo(ctx: AppContext, caller: Caller, admitted: Admitted) -> None:
    await admission.unsent(ctx, caller, admitted.decision)
    await attachments.discard(ctx, admitted.attached)


async def _accept_and_wait(
    ctx: AppContext, caller: Caller, admitted: Admitted, hung_up: HungUp
) -> Sent:
    message_id = new_id(ids.MESSAGE, ctx.clock.now())
    ctx.handover.expect(message_id)
    try:
        with held(ctx, caller, message_id, hung_up) as wait:  # before there is anything to miss
            accepted = await accept(ctx, caller, admitted.new, admitted.attached, message_id)
            if accepted.fresh:
                snapshot = await _until_turn_ends(ctx, accepted.message, wait)
                return Sent(snapshot, fresh=True)
    finally:
        ctx.handover.forget(message_id)
    return await _answer_replay(ctx, caller, accepted, hung_up)


async def _answer_replay(
    ctx: AppContext, caller: Caller, accepted: Accepted, hung_up: HungUp
) -> Sent:
    """The answer to a call whose message was there already: see `send`."""
    if not accepted.rearmed:
        return Sent(await messages.settled(ctx, accepted.message.id), fresh=False)
    with held(ctx, caller, accepted.message.id, hung_up) as wait:
        snapshot = await messages.settled(ctx, accepted.message.id)
        if snapshot.message.turn_state in OPEN_TURNS:
            snapshot = await _until_turn_ends(ctx, snapshot.message, wait)
    return Sent(snapshot, fresh=False)


async def _until_turn_ends(ctx: AppContext, message: MessageRecord, wait: Wait) -> Snapshot:
    """Wait for the turn's end, and for the end of its patience while it is not its turn yet.

    Both deadlines are stored in the row. This call waits for the remaining time as measured at its
    start, so a clock that is set back does not prolong it.
    """
    clock, settings = ctx.clock, ctx.settings
    now, began = clock.now(), clock.passed()
    window_ends = began + min(message.reply_deadline - now, seconds(settings.turn_reply_seconds))
    turn_wait_deadline = message.turn_wait_deadline
    patience_ends = began + min(turn_wait_deadline - now, seconds(settings.busy_wait_seconds))
    while True:
        waiting = message.turn_state is TurnState.WAITING
        until = min(window_ends, patience_ends) if waiting else window_ends
        hinted = await wait.wait((until - clock.passed()) / SECOND)
        if wait.over or (not hinted and window_ends <= clock.passed()):
            return await _answered_without(ctx, message.id)
        if not hinted and waiting and patience_ends <= clock.passed():
            await turns.expire_wait(ctx, message.id, turn_wait_deadline)
        snapshot = ctx.handover.take(message.id) if hinted else None
        if snapshot is None:
            read = messages.current if hinted else messages.settled
            snapshot = await read(ctx, message.id)
        message = snapshot.message
        if message.turn_state not in OPEN_TURNS:
            return snapshot


@write_transaction
def _answered_without(tx: Tx, ctx: AppContext, message_id: str) -> Snapshot:
    """`messages.settled`, for a POST that is answered now: whatever its turn says from here on was
    not in that answer (design: The POST window)."""
    message = message_rows.lock(tx, message_id)
    assert message is not None, "a message that was just accepted is there"
    if message.turn_state in OPEN_TURNS:
        record.close_window(tx, message, ctx.clock.now())
    return message_rows.snapshot(tx, message)


async def find_replay(ctx: AppContext, caller: Caller, new: NewMessage) -> Accepted | None:
    """The message that holds the key, before anything is decoded or stored; may refuse.

    Decides as `accept` does: a busy message gets its other chance here, and ``rearmed`` says so to
    this one call only. None leaves it to `accept`, in the transaction that takes the key.
    """
    if new.idempotency_key is None:
        return None
    return await ctx.db.write(lambda tx: _replay(tx, ctx, caller, new, ctx.clock.now()))


async def accept(
    ctx: AppContext, caller: Caller, new: NewMessage, attached: Attached, message_id: str
) -> Accepted:
    """Take the message in; its turn begins with the commit when the conversation is free.

    ``message_id`` is fresh, so the caller can listen for it before it exists.

    Raises `Refusal`: ``idempotency_conflict``, ``not_found`` (webhook endpoint),
    ``upload_not_ready``, ``too_large`` (uploads). A refused message attaches nothing.
    """

    request = lifecycle.request_id()  # here: the transaction may run on another thread

    def fn(tx: Tx) -> Accepted:
        now = ctx.clock.now()
        conversation = _conversation(tx, caller, new, now)
        replayed = _replay(tx, ctx, caller, new, now)
        if replayed is not None:
            return replayed
        _check_endpoint(tx, caller, new.webhook_endpoint_id)
        message = _new_message(ctx, caller, new, conversation.id, attached, message_id, now)
        for upload in uploads.attach(tx, caller.account_id, new.upload_ids, message.id, now):
            history_rows.insert_attachment(tx, upload)
        attachments.attach(tx, ctx, message, attached)
        signal: s.TurnBegun | s.TurnQueued
        if turns.is_free(tx, conversation):
            turns.begin(tx, ctx, conversation, message, now)
            signal = s.TurnBegun()
        else:
            signal = s.TurnQueued()
        if not record.create_message(tx, ctx, message, signal):
            raise _KeyTaken
        lifecycle.message_accepted(tx, message, request)
        return Accepted(message, fresh=True)

    while True:
        try:
            return await ctx.db.write(fn)
        except _KeyTaken:
            continue  # another call with the key committed in between: the next try finds it


class _KeyTaken(Exception):
    """Lost the race for an idempotency key; rolls the transaction back."""


def _replay(tx: Tx, ctx: AppContext, caller: Caller, new: NewMessage, now: int) -> Accepted | None:
    """The message that holds the key (spec: createMessage 2; design: One turn at a time;
    Idempotency).
    """
    if new.idempotency_key is None:
        return None
    holder = message_rows.by_idempotency_key(tx, caller.key_id, new.idempotency_key)
    if holder is None:
        return None
    kept_until = holder.created_at + seconds(ctx.settings.idempotency_seconds)
    if min(kept_until, holder.expires_at) <= now:
        record.free_idempotency_key(tx, holder.id)
        return None
    if idempotency.compare(holder.fingerprint, new.fingerprint) is Verdict.CONFLICT:
        raise Refusal(
            ErrorCode.IDEMPOTENCY_CONFLICT,
            "This Idempotency-Key was used with another body within the last seven days.",
        )
    busy = holder.turn_state is TurnState.BUSY
    if busy:
        _rearm(tx, ctx, holder, now)
    return Accepted(holder, fresh=False, rearmed=busy)


def _rearm(tx: Tx, ctx: AppContext, message: MessageRecord, now: int) -> None:
    """A busy message sent again: the same message gets another chance (design: One turn at a
    time).
    """
    conversation = conversations.lock(tx, message.conversation_id)
    message.turn_wait_deadline = now + seconds(ctx.settings.busy_wait_seconds)
    message.reply_deadline = now + seconds(ctx.settings.turn_reply_seconds)
    record.apply_turn(tx, ctx, message, s.Resent(), now)
    if turns.is_free(tx, conversation):
        turns.begin(tx, ctx, conversation, message, now)
        record.apply_turn(tx, ctx, message, s.TurnBegun(), now)


def _check_endpoint(tx: Tx, caller: Caller, endpoint_id: str | None) -> None:
    if endpoint_id is not None and not endpoints.exists(tx, endpoint_id, caller.account_id):
        raise not_found("webhook endpoint")


def _conversation(tx: Tx, caller: Caller, new: NewMessage, now: int) -> ConversationRecord:
    """The message's conversation, locked; made when it is named for the first time."""
    if new.conversation_id is not None:
        return conversations.lock(tx, new.conversation_id)
    make = partial(_new_conversation, caller, new, now)
    return conversations.open_(tx, caller.key_id, new.conversation, make)


def _new_conversation(caller: Caller, new: NewMessage, now: int) -> ConversationRecord:
    return ConversationRecord(
        id=new_id(ids.CONVERSATION, now),
        account_id=caller.account_id,
        owner=caller.key_id,
        name=new.conversation,
        created_at=now,
    )


def _new_message(
    ctx: AppContext,
    caller: Caller,
    new: NewMessage,
    conversation_id: str,
    attached: Attached,
    message_id: str,
    now: int,
) -> MessageRecord:
    settings = ctx.settings
    patience = settings.busy_wait_seconds if new.held else settings.turn_limit_seconds
    window = settings.turn_reply_seconds if new.held else 0
    return MessageRecord(
        id=message_id,
        account_id=caller.account_id,
        key_id=caller.key_id,
        conversation_id=conversation_id,
        text=new.text,
        metadata_json=json.dumps(new.metadata) if new.metadata is not None else None,
        traceparent=new.traceparent,
        webhook_endpoint_id=new.webhook_endpoint_id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint,
        attachments=len(attached.files) + len(new.upload_ids),
        notes_json=json.dumps(attached.notes) if attached.notes else "[]",
        created_at=now,
        turn_wait_deadline=now + seconds(patience),
        reply_deadline=now + seconds(window),
        updated_at=now,
        expires_at=now + seconds(settings.message_retention_seconds),
    )
