"""A message that is to be sent, the same for every way in, and the rows that are made of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.contract.validation import check_texts, validate
from agentpost.domain import ids, limits
from agentpost.domain.credits import to_millionths
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.times import seconds
from agentpost.messages import body_shapes, idempotency_rules
from agentpost.messages.idempotency_rules import Attempt
from agentpost.messages.rules import WhenBusy
from agentpost.ratelimit.base import RateDecision
from agentpost.record.records import ConversationRecord, MessageRecord
from agentpost.uploads.attachments import AttachmentResult, InlineFile


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to be sent, whichever way it came.

    `from_fields` makes it of the public fields of a body; `check` checks what was made otherwise.
    `sending.admit` replaces its files by what it has stored of them.
    """

    text: str = ""
    """Trimmed."""
    conversation: str = ""
    idempotency_key: str | None = None
    attempt: Attempt | None = None
    """Of a client that repeats calls without a key."""
    follows: str | None = None
    """The message that has to be the last one of its conversation; else `Overtaken` is raised."""
    metadata: Mapping[str, Any] | None = None
    """Texts, once it is checked."""
    traceparent: str | None = None
    webhook_endpoint_id: str | None = None
    upload_ids: tuple[str, ...] = ()
    """Different ones, in the order named."""
    files: tuple[InlineFile, ...] = ()
    """Those that are not stored yet."""
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
    """As it was sent, which is compared."""
    usable_schema: dict[str, Any] | None = None
    """The same as one of draft 2020-12, once it is checked."""
    user_id: str | None = None
    """Who wrote it in the app."""
    original_hash: str | None = None
    """Of what was sent, when the door has put the fields together from it and what was there."""
    file_identities: tuple[Mapping[str, str | None], ...] = ()
    """What makes its files the same, for a message with an idempotency key."""
    attached: AttachmentResult | None = None
    """What has been stored of its files."""
    counted: RateDecision | None = None
    """That it counts against its account's limit of messages, until it turns out to be none."""

    def fingerprint(self) -> str:
        """What makes another message with the same idempotency key the same. Every field is a part
        of it, unless `_NOT_COMPARED` names the field; or ``original_hash`` is all of it."""
        if self.original_hash is not None:
            return self.original_hash
        terms = {f.name: value for f in _TERMS if (value := getattr(self, f.name)) != f.default}
        return idempotency_rules.fingerprint(
            self.text, self.file_identities, self.upload_ids, terms
        )

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.text or self.files or self.upload_ids) and self.answer is None


_NOT_COMPARED: Final = frozenset(
    {
        # Another one does not make it another order (design: Idempotency).
        *("conversation", "conversation_id", "metadata", "webhook_endpoint_id"),
        # They are about the call.
        *("idempotency_key", "attempt", "follows", "traceparent", "user_id"),
        *("held", "scheduled", "wait_seconds", "usable_schema", "attached", "counted"),
    }
)
_OTHERWISE_COMPARED: Final = frozenset(
    {"text", "files", "file_identities", "upload_ids", "original_hash"}
)
_TERMS: Final = tuple(
    field
    for field in fields(NewMessage)
    if field.name not in _NOT_COMPARED and field.name not in _OTHERWISE_COMPARED
)


def from_fields(
    public: Mapping[str, Any], files: Sequence[InlineFile] | None = None, **call: Any
) -> NewMessage:
    """The message of the fields of `MessageIn`, whose types were checked.

    Args:
        files: its files, where they are not to be made of its field ``files``.
        call: fields of `NewMessage` that are about the call.

    Raises ``invalid_request`` for fields that do not go together.
    """
    if files is None:
        files = [InlineFile.of(each) for each in public.get("files") or ()]
    max_credits = public.get("max_credits")
    new = NewMessage(
        text=(public.get("message") or "").strip(),
        conversation=public.get("conversation") or "",
        metadata=public.get("metadata"),
        webhook_endpoint_id=public.get("webhook_endpoint_id"),
        upload_ids=tuple(dict.fromkeys(public.get("upload_ids") or ())),
        files=tuple(files),
        busy=WhenBusy(public.get("busy") or WhenBusy.WAIT),
        max_credits=None if max_credits is None else to_millionths(max_credits),
        answer_to=public.get("answer_to"),
        answer=public.get("answer"),
        response_schema=public.get("response_schema"),
        **call,
    )
    problems = list(_contradictions(new))
    if problems:
        raise InvalidRequest(*problems)
    return new


def check(new: NewMessage) -> None:
    """Raise what `POST /v1/messages` answers to a body with the same fields."""
    public: dict[str, Any] = {
        "message": new.text or None,
        "conversation": new.conversation or None,
        "metadata": None if new.metadata is None else dict(new.metadata),
        "webhook_endpoint_id": new.webhook_endpoint_id,
        "upload_ids": list(new.upload_ids) or None,
        "files": [each.without_contents() for each in new.files] or None,
        "answer_to": new.answer_to,
        "answer": new.answer,
        "response_schema": new.response_schema,
    }
    body_shapes.refuse_by_name(public)
    problems = list(_contradictions(new))
    check_texts(public | {"idempotency_key": new.idempotency_key}, problems)
    if problems:
        raise InvalidRequest(*problems[: limits.PROBLEMS_MAX])
    validate(body_shapes.MessageIn, public)


def check_conversation(caller: Caller, new: NewMessage) -> None:
    """Raise ``invalid_request`` where the account has to name a conversation and this message does
    not: it would share memory and files with all others of its key."""
    is_required = caller.rules.allowances.conversation_required
    if is_required and not (new.conversation or new.conversation_id or new.answer_to):
        raise InvalidRequest(Problem("conversation", "is required, such as your customer's id"))


def _contradictions(new: NewMessage) -> Iterator[Problem]:
    """Problems of fields that are right, each taken alone."""
    for n, file in enumerate(new.files):
        if file.url is None and file.base64 is None:
            yield Problem(f"files.{n}", "needs a url or base64")
    if new.answer is not None and new.answer_to is None:
        yield Problem("answer_to", "is needed with an answer")


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
    message_id: str,
    now: int,
) -> MessageRecord:
    """The row of a new message, its turn still to be decided."""
    settings, attached = ctx.settings, new.attached
    patience = settings.busy_wait_seconds if new.held else settings.turn_limit_seconds
    queued = None
    if new.busy is WhenBusy.QUEUE:
        queued = max(0, seconds(settings.queue_wait_seconds) - seconds(patience))
    is_named = conversation.owner != conversation.account_id
    schema_json = None
    if new.usable_schema is not None:
        schema_json = json.dumps(new.usable_schema, ensure_ascii=False, separators=(",", ":"))
    return MessageRecord(
        id=message_id,
        account_id=caller.account_id,
        key_id=caller.key_id,
        conversation_id=conversation.id,
        # None for a key's own conversation and for chats of the app.
        conversation=conversation.name or None if is_named else None,
        text=new.text,
        metadata_json=None if new.metadata is None else json.dumps(dict(new.metadata)),
        traceparent=new.traceparent,
        webhook_endpoint_id=new.webhook_endpoint_id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint() if new.idempotency_key is not None else "",
        attachments=len(new.upload_ids) + (len(attached.files) if attached else 0),
        notes_json=json.dumps(attached.notes) if attached and attached.notes else "[]",
        created_at=now,
        turn_wait_deadline=now + seconds(patience),
        reply_deadline=now + window_of(ctx, new),
        updated_at=now,
        expires_at=now + seconds(settings.message_retention_seconds),
        queue_patience=queued,
        max_credits=new.max_credits,
        user_id=new.user_id,
        response_schema_json=schema_json,
    )
