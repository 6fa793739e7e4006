"""What a caller sends by another protocol: checked as the API checks it, then sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentpost.clock import new_id
from agentpost.domain import answers, ids, limits
from agentpost.domain.answers import AnswerFormat
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.idempotency import Attempt
from agentpost.domain.message import MessageStatus
from agentpost.domain.records import MessageRecord, Snapshot
from agentpost.domain.text import UNSTORABLE
from agentpost.services import sending
from agentpost.services.attachments import InlineFile, without_contents
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller
from agentpost.services.sending import NewMessage


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be sent.

    ``conversation`` is the name of one, or None for one of the message's own; ``conversation_id``
    is that of a message which it goes on from, and wins.
    """

    text: str
    files: tuple[InlineFile, ...] = ()
    upload_ids: tuple[str, ...] = ()
    conversation: str | None = None
    conversation_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    """Texts, when it may be sent."""
    response_schema: dict[str, Any] | None = None
    """JSON Schema that its output has to fit."""
    idempotency_key: str | None = None
    original_hash: str | None = None
    """See `NewMessage`."""
    attempt: Attempt | None = None
    """Of a client that repeats calls without a key."""
    follows: str | None = None
    """The message that has to be the last one of its conversation; else `Overtaken` is raised."""
    answer_to: str | None = None
    """The message whose typed question it answers, with ``answer``."""
    answer: Any = None

    def answering(self, asked: Snapshot) -> Draft:
        """The same, as the answer to a message when that asks a typed question.

        An answer that does not fit is refused then, where the API would take it for a message of
        its own: who calls through a door has said which question is meant. One that was answered
        takes any message. Raises ``invalid_request`` for a text that is no JSON.
        """
        wanted = answers.format_of(asked)
        is_open = asked.message.answered_by is None
        if asked.message.status is not MessageStatus.NEEDS_INPUT or not (wanted and is_open):
            return self
        try:
            value = answers.value_in(AnswerFormat.stored(wanted), self.text)
        except ValueError as error:
            raise InvalidRequest(Problem("answer", str(error))) from None
        return replace(
            self,
            conversation="",
            conversation_id=asked.message.conversation_id,
            answer_to=asked.message.id,
            answer=value,
        )


def fresh_id(ctx: AppContext) -> str:
    """An id for a message, so that its caller can listen for it before it is sent."""
    return new_id(ids.MESSAGE, ctx.clock.now())


async def send(
    ctx: AppContext, caller: Caller, draft: Draft, message_id: str | None = None
) -> MessageRecord:
    """Take it in without waiting for its turn, for which it waits as long as a turn may take.

    ``message_id`` comes from `fresh_id`. A message that the call repeats has another.

    Raises what POST /v1/messages refuses: ``empty_message``, ``too_long``, ``too_many``,
    ``invalid_request``, ``upload_not_ready``, ``too_large``, ``idempotency_conflict``,
    ``rate_limited``, ``unavailable``; and `Overtaken`.
    """
    ctx.intake.check(caller.account_id)
    _check(draft)
    files = list(draft.files)
    admitted = await sending.admit(ctx, caller, _new(ctx, draft), files)
    return await sending.post(ctx, caller, admitted, message_id)


def _new(ctx: AppContext, draft: Draft) -> NewMessage:
    name = draft.conversation
    return NewMessage(
        text=draft.text.strip(),
        original_hash=draft.original_hash,
        conversation=new_id(ids.CONVERSATION, ctx.clock.now()) if name is None else name,
        conversation_id=draft.conversation_id,
        idempotency_key=draft.idempotency_key,
        attempt=draft.attempt,
        follows=draft.follows,
        metadata=dict(draft.metadata) if draft.metadata else None,
        response_schema=draft.response_schema,
        answer_to=draft.answer_to,
        answer=draft.answer,
        upload_ids=tuple(dict.fromkeys(draft.upload_ids)),
        held=False,
    )


def _check(draft: Draft) -> None:
    most = limits.MESSAGE_CHARACTERS_MAX
    if len(draft.text.strip()) > most:
        raise Refusal(
            ErrorCode.TOO_LONG, f"The message is over {most:,} characters; attach it as a file."
        )
    if len(set(draft.upload_ids)) > limits.UPLOADS_PER_MESSAGE_MAX:
        most = limits.UPLOADS_PER_MESSAGE_MAX
        raise Refusal(ErrorCode.TOO_MANY, f"A message may have up to {most} uploads.")
    if len(draft.files) > limits.INLINE_FILES_MAX:
        most = limits.INLINE_FILES_MAX
        raise Refusal(
            ErrorCode.TOO_MANY, f"A message may have up to {most} files besides its uploads."
        )
    if not (draft.text.strip() or draft.files or draft.upload_ids):
        raise Refusal(ErrorCode.EMPTY_MESSAGE, "Give a text or a file.")
    problems = list(_problems(draft))
    if problems:
        raise InvalidRequest(*problems[: limits.PROBLEMS_MAX])


def _problems(draft: Draft) -> list[Problem]:
    found = list(without_contents(draft.files))
    metadata = dict(draft.metadata or {})
    if len(draft.conversation or "") > limits.CONVERSATION_CHARACTERS_MAX:
        most = limits.CONVERSATION_CHARACTERS_MAX
        found.append(Problem("conversation", f"is over {most} characters"))
    if len(metadata) > limits.METADATA_ENTRIES_MAX:
        return [Problem("metadata", f"has over {limits.METADATA_ENTRIES_MAX} entries")]
    for name, value in metadata.items():
        where = f"metadata.{name[: limits.METADATA_KEY_CHARACTERS_MAX]}"
        if not isinstance(value, str):
            found.append(Problem(where, "is no text"))
        elif len(value) > limits.METADATA_VALUE_CHARACTERS_MAX:
            most = limits.METADATA_VALUE_CHARACTERS_MAX
            found.append(Problem(where, f"is over {most} characters"))
        if len(name) > limits.METADATA_KEY_CHARACTERS_MAX:
            most = limits.METADATA_KEY_CHARACTERS_MAX
            found.append(Problem("metadata", f"a name is over {most} characters"))
    texts = {"text": draft.text, "conversation": draft.conversation or ""}
    texts["idempotency_key"] = draft.idempotency_key or ""
    texts |= {f"metadata.{name}": f"{name}{value}" for name, value in metadata.items()}
    for n, file in enumerate(draft.files):
        texts[f"files.{n}"] = f"{file.name}{file.url}{file.content_type}"
    for where, text in texts.items():
        if UNSTORABLE.search(text):
            found.append(
                Problem(
                    UNSTORABLE.sub("?", where)[:200],
                    "the text holds U+0000 or half a surrogate pair, which cannot be stored",
                )
            )
    return found
