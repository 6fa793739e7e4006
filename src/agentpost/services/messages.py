"""Accepting and reading messages (spec: createMessage, getMessage)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentpost.clock import new_id
from agentpost.db import conversations, endpoints, pending_deletions
from agentpost.db import history as history_rows
from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import idempotency, ids
from agentpost.domain import signals as s
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.idempotency import Verdict
from agentpost.domain.message import OPEN_TURNS, MessageStatus, TurnState
from agentpost.domain.record import ConversationRecord, MessageRecord, Snapshot
from agentpost.domain.times import seconds
from agentpost.services import lifecycle, record, turns, uploads
from agentpost.services.allowances import Rules
from agentpost.services.attachments import Attached
from agentpost.services.context import AppContext


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a key and its account."""

    key_id: str
    key_name: str
    account_id: str
    rules: Rules | None = None  # None: those of the settings


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


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message that stands for the call.

    ``fresh`` is False for an idempotent replay; ``rearmed``: the replay gave a busy message another
    chance.
    """

    message: MessageRecord
    fresh: bool
    rearmed: bool = False


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
        fresh = _new_conversation(caller, new.conversation, now)
        conversation = conversations.open_(tx, fresh)
        replayed = _replay(tx, ctx, caller, new, now)
        if replayed is not None:
            return replayed
        _check_endpoint(tx, caller, new.webhook_endpoint_id)
        message = _new_message(ctx, caller, new, conversation.id, attached, message_id, now)
        for attachment in attached.files:
            attachment.message_id = message.id
            if attachment.blob is not None:
                pending_deletions.keep(tx, attachment.blob)
            history_rows.insert_attachment(tx, attachment)
        for upload in uploads.attach(tx, caller.account_id, new.upload_ids, message.id, now):
            history_rows.insert_attachment(tx, upload)
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


async def get(ctx: AppContext, caller: Caller, message_id: str) -> Snapshot:
    """A message of the key, with all that a client sees; raises ``not_found``."""

    def fn(tx: Tx) -> Snapshot:
        message = message_rows.get_of_key(tx, message_id, caller.key_id, ctx.clock.now())
        if message is None:
            raise not_found("message")
        return message_rows.snapshot(tx, message)

    if not ids.is_id(ids.MESSAGE, message_id):
        raise not_found("message")
    return await ctx.db.read(fn)


async def current(ctx: AppContext, message_id: str) -> Snapshot:
    """The message as last committed, for our own machinery."""

    def fn(tx: Tx) -> Snapshot:
        message = message_rows.get(tx, message_id)
        assert message is not None, "a message that was just accepted is there"
        return message_rows.snapshot(tx, message)

    return await ctx.db.read(fn)


async def settled(ctx: AppContext, message_id: str) -> Snapshot:
    """The message after every commit that came before this call (design: The POST window).

    Read under the message's lock, so a turn that says it was delivered in time is seen.
    """

    def fn(tx: Tx) -> Snapshot:
        message = message_rows.lock(tx, message_id)
        assert message is not None, "a message that was just accepted is there"
        return message_rows.snapshot(tx, message)

    return await ctx.db.write(fn)


async def answered_without(ctx: AppContext, message_id: str) -> Snapshot:
    """`settled`, for a POST that is answered now: whatever its turn says from here on was not in
    that answer (design: The POST window)."""

    def fn(tx: Tx) -> Snapshot:
        message = message_rows.lock(tx, message_id)
        assert message is not None, "a message that was just accepted is there"
        if message.turn_state in OPEN_TURNS:
            record.close_window(tx, message, ctx.clock.now())
        return message_rows.snapshot(tx, message)

    return await ctx.db.write(fn)


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
            "idempotency_conflict",
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
    message.busy_by = now + seconds(ctx.settings.busy_wait_seconds)
    message.sync_by = now + seconds(ctx.settings.turn_reply_seconds)
    record.apply_turn(tx, ctx, message, s.Resent(), now)
    if turns.is_free(tx, conversation):
        turns.begin(tx, ctx, conversation, message, now)
        record.apply_turn(tx, ctx, message, s.TurnBegun(), now)


def _check_endpoint(tx: Tx, caller: Caller, endpoint_id: str | None) -> None:
    if endpoint_id is not None and not endpoints.exists(tx, endpoint_id, caller.account_id):
        raise not_found("webhook endpoint")


def _new_conversation(caller: Caller, name: str, now: int) -> ConversationRecord:
    return ConversationRecord(
        id=new_id(ids.CONVERSATION, now),
        account_id=caller.account_id,
        owner=caller.key_id,
        name=name,
        home_work_id=None,
        state_json="{}",
        turns=0,
        works=0,
        turn_message_id=None,
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
        turn_state=TurnState.WAITING,
        turn_no=None,
        turn_node=None,
        turn_epoch=0,
        turn_began_at=None,
        turn_inputs_json=None,
        busy_by=now + seconds(settings.busy_wait_seconds),
        sync_by=now + seconds(settings.turn_reply_seconds),
        asked=None,
        reply=None,
        status=MessageStatus.PROCESSING,
        reason=None,
        question=None,
        final=0,
        jobs=0,
        reply_files=0,
        seq=0,
        version=0,
        state_version=0,
        created_at=now,
        updated_at=now,
        expires_at=now + seconds(settings.message_retention_seconds),
    )
