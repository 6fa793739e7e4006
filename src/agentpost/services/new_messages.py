"""A message to be sent, as the doors hand it over, and the rows that are made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from agentpost.clock import new_id
from agentpost.domain import idempotency, ids
from agentpost.domain.idempotency import Attempt
from agentpost.domain.message import WhenBusy
from agentpost.domain.records import ConversationRecord, MessageRecord
from agentpost.domain.times import seconds
from agentpost.services.attachments import AttachmentResult
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as the door understood it; text trimmed, limits checked."""

    text: str
    conversation: str = ""
    idempotency_key: str | None = None
    attempt: Attempt | None = None
    """Of a client that repeats calls without a key."""
    follows: str | None = None
    """The message that has to be the last one of its conversation."""
    metadata: dict[str, str] | None = None
    traceparent: str | None = None
    webhook_endpoint_id: str | None = None
    upload_ids: tuple[str, ...] = ()
    """Different ones, in the order named."""
    files: tuple[Mapping[str, str | None], ...] = ()
    """The identities of its inline files; `sending.admit` sets them."""
    conversation_id: str | None = None
    """One of the account, instead of the one that is named."""
    held: bool = True
    """Whether a call waits for the answer. Else the message waits for its turn as long as the turn
    before it may take."""
    scheduled: bool = False
    """Its time has come: it is not refused because many others arrive."""
    wait_seconds: int | None = None
    """For how long the call waits at most, None: as long as the server lets it. It is about the
    call, not about the message: a call that repeats the message may have another."""
    busy: WhenBusy = WhenBusy.WAIT
    max_credits: int | None = None
    """What its work may use, in millionths."""
    answer_to: str | None = None
    """The message whose question it answers; its conversation is the one."""
    answer: Any = None
    """Without it the text may be the answer."""
    response_schema: dict[str, Any] | None = None
    user_id: str | None = None
    """Who wrote it in the app."""
    original_hash: str | None = None
    """Of what was sent, when the door has put the fields together from it and what was there."""

    @property
    def fingerprint(self) -> str:
        """What makes another message with the same idempotency key the same.

        Every field is a part of it, unless `_NOT_COMPARED` names the field; or ``original_hash``
        is all of it.
        """
        if self.original_hash is not None:
            return self.original_hash
        terms = {f.name: value for f in _TERMS if (value := getattr(self, f.name)) != f.default}
        return idempotency.fingerprint(self.text, self.files, self.upload_ids, terms)


_NOT_COMPARED: Final = frozenset(
    {
        # Another one does not make it another order (design: Idempotency).
        *("conversation", "conversation_id", "metadata", "webhook_endpoint_id"),
        # They are about the call.
        *("idempotency_key", "attempt", "follows", "traceparent", "user_id"),
        *("held", "scheduled", "wait_seconds"),
    }
)
_TERMS: Final = tuple(
    field
    for field in fields(NewMessage)
    if field.name not in _NOT_COMPARED | {"text", "files", "upload_ids", "original_hash"}
)


def conversation_of(caller: Caller, new: NewMessage, now: int) -> ConversationRecord:
    """The conversation that it names for the first time."""
    return ConversationRecord(
        id=new_id(ids.CONVERSATION, now),
        account_id=caller.account_id,
        owner=caller.key_id,
        name=new.conversation,
        created_at=now,
    )


def window_of(ctx: AppContext, new: NewMessage) -> int:
    """For how long its call may be held, in microseconds (design: The POST window)."""
    if not new.held:
        return 0
    most = seconds(ctx.settings.turn_reply_seconds)
    return most if new.wait_seconds is None else min(most, seconds(new.wait_seconds))


def message_of(
    ctx: AppContext,
    caller: Caller,
    new: NewMessage,
    conversation: ConversationRecord,
    attached: AttachmentResult,
    message_id: str,
    now: int,
) -> MessageRecord:
    """The row of a new message, its turn still to be decided."""
    settings = ctx.settings
    patience = settings.busy_wait_seconds if new.held else settings.turn_limit_seconds
    queued = None
    if new.busy is WhenBusy.QUEUE:
        queued = max(0, seconds(settings.queue_wait_seconds) - seconds(patience))
    return MessageRecord(
        id=message_id,
        account_id=caller.account_id,
        key_id=caller.key_id,
        conversation_id=conversation.id,
        conversation=_given_name(conversation),
        text=new.text,
        metadata_json=json.dumps(new.metadata) if new.metadata is not None else None,
        traceparent=new.traceparent,
        webhook_endpoint_id=new.webhook_endpoint_id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint if new.idempotency_key is not None else "",
        attachments=len(attached.files) + len(new.upload_ids),
        notes_json=json.dumps(attached.notes) if attached.notes else "[]",
        created_at=now,
        turn_wait_deadline=now + seconds(patience),
        reply_deadline=now + window_of(ctx, new),
        updated_at=now,
        expires_at=now + seconds(settings.message_retention_seconds),
        queue_patience=queued,
        max_credits=new.max_credits,
        user_id=new.user_id,
        response_schema_json=_compact(new.response_schema),
    )


def _compact(schema: dict[str, Any] | None) -> str | None:
    if schema is None:
        return None
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _given_name(conversation: ConversationRecord) -> str | None:
    """The name that a caller gave; None for a key's own conversation and for chats of the app."""
    own = conversation.owner == conversation.account_id
    return None if own else conversation.name or None
