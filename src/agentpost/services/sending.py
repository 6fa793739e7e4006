"""Sending a message, from what the caller gave to the stored row and the answer of the call.

The steps, top-down: `admit` counts the message and stores its files, while the door holds its body;
`send` takes it in with `accept`, one transaction, and waits until its turn has ended. A call that
repeats another by its idempotency key gets that one's message instead.
(spec: createMessage; design: One turn at a time; The POST window; Idempotency)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from agentpost.agents import schemas
from agentpost.clock import new_id
from agentpost.db import accounts, conversations, endpoints
from agentpost.db import history as history_rows
from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import idempotency, ids, limits
from agentpost.domain import signals as s
from agentpost.domain.errors import (
    ErrorCode,
    InvalidRequest,
    KeyEnded,
    Problem,
    RateLimited,
    Refusal,
    not_found,
)
from agentpost.domain.idempotency import Verdict
from agentpost.domain.message import OPEN_TURNS, TurnState, WhenBusy
from agentpost.domain.records import ConversationRecord, MessageRecord, Snapshot
from agentpost.domain.times import seconds
from agentpost.ratelimit.base import RateDecision
from agentpost.services import (
    admission,
    answering,
    attachments,
    lifecycle,
    messages,
    record,
    repeats,
    turns,
    uploads,
)
from agentpost.services.answering import Answering
from agentpost.services.attachments import AttachmentResult, InlineFile
from agentpost.services.context import AppContext
from agentpost.services.long_poll import HeldCall, HungUp
from agentpost.services.messages import Caller
from agentpost.services.new_messages import NewMessage as NewMessage  # noqa: PLC0414 - see `admit`
from agentpost.services.new_messages import conversation_of, message_of, window_of
from agentpost.services.post_window import until_turn_ends

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message that stands for the call.

    ``fresh`` is False for an idempotent replay; ``rearmed``: the replay gave a busy message another
    chance. ``snapshot``: a fresh message as it was accepted, for a call that does not wait.
    """

    message: MessageRecord
    fresh: bool
    rearmed: bool = False
    snapshot: Snapshot | None = None


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
    attached: AttachmentResult


async def admit(
    ctx: AppContext, caller: Caller, new: NewMessage, files: list[InlineFile]
) -> Admitted | Accepted:
    """Count the message and store its files; or find the message this call repeats.

    A repeated call counts for nothing, so it is answered though the account is at its limit. For a
    message without files that is found out by the transaction that takes it in.

    Raises `RateLimited`, and `Refusal` for files that cannot be stored and for a
    ``response_schema`` that cannot be used; a message with such a schema counts, since the check
    is dear.
    """
    if new.idempotency_key is not None or new.attempt is not None:
        # As repeated calls are compared.
        new = await _with_schema(ctx, caller, new, schemas.written)
    if files and new.idempotency_key is not None:
        new = replace(new, files=await asyncio.to_thread(_identities, files))
    is_repeat = new.attempt is not None and new.attempt.count > 0
    replayed = await find_replay(ctx, caller, new) if files or is_repeat else None
    if replayed is not None:
        return replayed
    try:
        decision = await admission.message(ctx, caller)
    except RateLimited:
        replayed = await find_replay(ctx, caller, new)
        if replayed is None:
            raise
        return replayed
    new = await _with_schema(ctx, caller, new, schemas.check)  # it counts, also when it is refused
    try:
        attached = await attachments.store(ctx, files) if files else AttachmentResult()
    except BaseException:
        await admission.unsent(ctx, caller, decision)
        raise
    return Admitted(new, decision, attached)


async def _with_schema(
    ctx: AppContext, caller: Caller, new: NewMessage, check: Callable[[object], dict[str, Any]]
) -> NewMessage:
    """The message with its schema, if it has one, as ``check`` gives it."""
    if new.response_schema is None:
        return new
    schema = await answering.check_schema(ctx, caller.account_id, new.response_schema, check=check)
    return replace(new, response_schema=schema)


def _identities(files: list[InlineFile]) -> tuple[dict[str, str | None], ...]:
    return tuple(file.identity() for file in files[: limits.INLINE_FILES_MAX])


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


async def post(
    ctx: AppContext, caller: Caller, admitted: Admitted | Accepted, message_id: str | None = None
) -> MessageRecord:
    """Take the message in without waiting for its turn; raises as `accept`.

    ``message_id`` is a fresh one, for who listens to it already. A message that the call repeats
    has another.
    """
    if isinstance(admitted, Accepted):
        return admitted.message
    message_id = message_id or new_id(ids.MESSAGE, ctx.clock.now())
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
        with HeldCall(
            ctx, caller, message_id, hung_up, stays=True
        ) as wait:  # before anything is missed
            accepted = await accept(ctx, caller, admitted.new, admitted.attached, message_id)
            if accepted.fresh:
                snapshot = accepted.snapshot or await until_turn_ends(ctx, accepted.message, wait)
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
    with HeldCall(ctx, caller, accepted.message.id, hung_up, stays=True) as wait:
        snapshot = await messages.settled(ctx, accepted.message.id)
        if snapshot.message.turn_state in OPEN_TURNS:
            snapshot = await until_turn_ends(ctx, snapshot.message, wait)
    return Sent(snapshot, fresh=False)


async def find_replay(ctx: AppContext, caller: Caller, new: NewMessage) -> Accepted | None:
    """The message that holds the key, before anything is decoded or stored; may refuse.

    Decides as `accept` does: a busy message gets its other chance here, and ``rearmed`` says so to
    this one call only. None leaves it to `accept`, in the transaction that takes the key.
    """
    if new.idempotency_key is None and new.attempt is None:
        return None
    return await ctx.db.write(lambda tx: _replay(tx, ctx, caller, new, ctx.clock.now()))


async def accept(
    ctx: AppContext, caller: Caller, new: NewMessage, attached: AttachmentResult, message_id: str
) -> Accepted:
    """Take the message in; its turn begins with the commit when the conversation is free.

    ``message_id`` is fresh, so the caller can listen for it before it exists.

    Raises `Refusal`: ``idempotency_conflict``, ``not_found`` (webhook endpoint, ``answer_to``),
    ``upload_not_ready``, ``too_large`` (uploads), ``invalid_request`` (``answer``),
    and `Overloaded`, see `Intake.check`; `Overtaken`. A refused message attaches nothing.
    """
    request = lifecycle.request_id()  # here: the transaction may run on another thread
    said: Answering | None = None
    if new.answer_to is not None:
        said = await answering.answer_to_named(
            ctx, caller, new.answer_to, new.conversation_id, new.text, new.answer
        )

    def fn(tx: Tx) -> Accepted | ConversationRecord:
        now = ctx.clock.now()
        if said is not None and said.refusal is not None:
            replayed = _replay(tx, ctx, caller, new, now)
            if replayed is None:
                raise said.refusal
            return replayed
        begun = None if said else _begun(tx, caller, new, message_id)
        if begun is None:
            accounts.prefetch(tx, caller.account_id)  # for a turn that begins
        conversation = begun[0] if begun else _conversation(tx, caller, new, said, now)
        replayed = _replay(tx, ctx, caller, new, now)
        if replayed is not None:
            return replayed
        asking = conversation.asking_message_id
        if asking is not None and not (said and (said.is_named or said.message_id == asking)):
            return conversation  # nothing was written: compare the text with the question first
        _check_endpoint(tx, caller, new.webhook_endpoint_id)
        message = message_of(ctx, caller, new, conversation, attached, message_id, now)
        if said is not None:
            message.text = said.text or message.text
            message.answer_json = answering.take(tx, conversation, said, message.id)
        for upload in uploads.attach(tx, caller.account_id, new.upload_ids, message.id, now):
            history_rows.insert_attachment(tx, upload)
        attachments.attach(tx, ctx, message, attached)
        if begun:
            turns.begin_named(tx, ctx, conversation, message, begun[1], now)
        elif turns.is_free(tx, conversation):
            turns.begin(tx, ctx, conversation, message, now)
        else:
            _not_held(message, now)
        signal = s.TurnQueued() if message.turn_began_at is None else s.TurnBegun()
        is_free = repeats.take_key(tx, message, new.attempt)
        if not (is_free and record.create_message(tx, ctx, message, signal)):
            raise _KeyTaken
        if message.turn_state is TurnState.WAITING and new.busy is WhenBusy.FAIL:
            record.apply_turn(tx, ctx, message, s.BusyRefused(), now)
        lifecycle.message_accepted(tx, message, request)
        # What comes after this commit is not in the answer, and the log says so.
        at_once = message_rows.snapshot(tx, message) if window_of(ctx, new) == 0 else None
        return Accepted(message, fresh=True, snapshot=at_once)

    while True:
        try:
            done = await _write(ctx, caller.account_id, fn, refusing=not new.scheduled)
        except _KeyTaken:
            continue  # another call with the key committed in between: the next try finds it
        if isinstance(done, Accepted):
            return done
        assert done.asking_message_id is not None
        said = await answering.answer_to_previous(ctx, done.asking_message_id, done.id, new.text)


async def _write(ctx: AppContext, account_id: str, fn: Callable[[Tx], T], *, refusing: bool) -> T:
    """`Database.write` for a message, when it is the account's turn; see `Intake.enter`."""
    await ctx.intake.enter(account_id, refusing=refusing)
    try:
        return await ctx.db.write(fn)
    finally:
        ctx.intake.leave(account_id)


class _KeyTaken(Exception):
    """Lost the race for an idempotency key; rolls the transaction back."""


def _replay(tx: Tx, ctx: AppContext, caller: Caller, new: NewMessage, now: int) -> Accepted | None:
    """The message that holds the key (spec: createMessage 2; design: One turn at a time;
    Idempotency).
    """
    if new.attempt is not None:
        earlier = repeats.find(tx, caller.key_id, new.attempt, now)
        return None if earlier is None else Accepted(earlier, fresh=False)
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
        _rearm(tx, ctx, holder, new, now)
    return Accepted(holder, fresh=False, rearmed=busy)


def _not_held(message: MessageRecord, now: int) -> None:
    """Nobody holds a call for a message that is queued."""
    if message.queue_patience is not None:
        message.reply_deadline = now


def _rearm(tx: Tx, ctx: AppContext, message: MessageRecord, new: NewMessage, now: int) -> None:
    """A busy message sent again: the same message gets another chance (design: One turn at a
    time).
    """
    conversation = conversations.lock(tx, message.conversation_id)
    message.turn_wait_deadline = now + seconds(ctx.settings.busy_wait_seconds)
    message.reply_deadline = now + window_of(ctx, new)
    free = turns.is_free(tx, conversation)
    if not free:
        _not_held(message, now)
    record.apply_turn(tx, ctx, message, s.Resent(), now)
    if free:
        turns.begin(tx, ctx, conversation, message, now)
        record.apply_turn(tx, ctx, message, s.TurnBegun(), now)
    elif new.busy is WhenBusy.FAIL:
        record.apply_turn(tx, ctx, message, s.BusyRefused(), now)


def _check_endpoint(tx: Tx, caller: Caller, endpoint_id: str | None) -> None:
    if endpoint_id is not None and not endpoints.exists(tx, endpoint_id, caller.account_id):
        raise not_found("webhook endpoint")


def _begun(
    tx: Tx, caller: Caller, new: NewMessage, message_id: str
) -> tuple[ConversationRecord, int] | None:
    """The message's conversation, its turn begun, and the account's credits: in one statement where
    nothing has to be looked at before. None: `_conversation` finds it."""
    if new.idempotency_key or new.attempt or new.conversation_id is not None:
        return None
    return conversations.begin_turn(tx, caller.key_id, new.conversation, message_id)


def _conversation(
    tx: Tx, caller: Caller, new: NewMessage, said: Answering | None, now: int
) -> ConversationRecord:
    """The message's conversation, locked; made when it is named for the first time."""
    if said is not None and said.is_named and said.conversation_id is not None:
        found = conversations.lock(tx, said.conversation_id)
        if new.conversation and new.conversation != found.name:
            raise InvalidRequest(Problem("conversation", "the question is of another one"))
        return found
    if new.conversation_id is not None:
        found = conversations.lock(tx, new.conversation_id)
        repeats.check_last(tx, found.id, new.follows)
        return found
    make = partial(conversation_of, caller, new, now)
    return conversations.open_(tx, caller.key_id, new.conversation, make)
