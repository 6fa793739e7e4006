"""Send the message of a call: in the conversation that it goes on with, and once, however often its
client repeats the call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from agentpost.api.body import in_turn
from agentpost.api.long_texts import TakenApart
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import InvalidRequest, Refusal
from agentpost.domain.limits import BODY_REST_BYTES_MAX, INLINE_FILES_MAX
from agentpost.doors import bodies, sending
from agentpost.doors.bodies import FileTexts
from agentpost.doors.openai.content import FILES_AT, Utterance
from agentpost.doors.openai.items import sources_of
from agentpost.doors.openai.models import model_names
from agentpost.doors.openai.transcripts import (
    Transcript,
    bare_text,
    digest,
    text_with_context,
    topic,
)
from agentpost.doors.outputs import outputs_of
from agentpost.following import followers
from agentpost.http.headers import header
from agentpost.http.request_state import state_of
from agentpost.messages import sending as messages
from agentpost.messages.idempotency_rules import Attempt
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.routes import idempotency_key_of
from agentpost.messages.sending import Overtaken
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.uploads import actions as uploads

Content = TypeVar("Content")
TextsOf = Callable[[Snapshot], list[str]]
RETRY_COUNT = b"x-stainless-retry-count"
"""How often OpenAI's clients have repeated a call; they do it on a timeout, without a key."""


@dataclass(frozen=True, slots=True)
class Call:
    """What says whether a request repeats another."""

    body_hash: str
    idempotency_key: str | None
    retry_count: int
    arrived_at: int


@dataclass(slots=True)
class CallInput:
    """What a call asks for.

    ``where`` is the place of its messages in the body. ``scope`` says whose they are
    (`parameters.scope_of`). ``conversation`` and ``message_id``, a message of it, say what they go
    on from; else the history says it. ``has_history``: the conversation has it already.
    """

    transcript: Transcript
    where: str
    scope: Sequence[object]
    conversation: str | None = None
    message_id: str | None = None
    has_history: bool = False
    metadata: dict[str, str] | None = None
    response_schema: dict[str, Any] | None = None
    ignored: list[str] = field(default_factory=list)


async def read_call(
    api: Api,
    request: Request,
    caller: Caller,
    understand: Callable[[Mapping[str, Any], Sequence[str]], Content],
) -> tuple[Call, Content]:
    """Read a call that sends something, and what it asks for. ``understand`` gets its body, in
    which `bodies.FileText` stand for the contents of large files, and the names that the agent has.
    Raises as that and `bodies.read_json`, and ``invalid_request``."""
    idempotency_key = idempotency_key_of(request)
    count = (header(request, RETRY_COUNT) or "").strip()
    data = await bodies.read_json(api, request, caller)

    def read_call() -> tuple[Call, Content]:
        body = bodies.parse_body(data, FileTexts(FILES_AT, BODY_REST_BYTES_MAX))
        parts: object = None
        if isinstance(data, TakenApart):
            parts = [data.rest_hash(), *(text.sha256() for text in data.texts.values())]
        else:
            parts = bytes(data)
        call = Call(
            body_hash=digest(parts),
            idempotency_key=idempotency_key,
            retry_count=int(count) if count.isascii() and count.isdigit() and len(count) < 4 else 0,
            arrived_at=state_of(request.scope).at,
        )
        return call, understand(body, model_names(api))

    return await in_turn(api, request, data, read_call)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message to be sent: in one of the conversations that it may go on with, in this order, or
    in a new one."""

    going_on: Sequence[NewMessage]
    anew: NewMessage

    async def send(self, api: Api, caller: Caller, message_id: str | None = None) -> MessageRecord:
        """See `sending.send`."""
        for draft in self.going_on:
            # A call with the same history may be faster, and the conversation is its own then.
            with suppress(Overtaken):
                return await _send(api, caller, draft, message_id)
        return await _send(api, caller, self.anew, message_id)


async def _send(
    api: Api, caller: Caller, draft: NewMessage, message_id: str | None
) -> MessageRecord:
    """Send it; its uploads may have been sent before, as OpenAI's files may. Then the message gets
    copies, which go when it is refused or there already."""
    ctx, account_id = api.ctx, caller.account_id
    copies = [await uploads.for_another_message(ctx, caller, n) for n in draft.upload_ids]
    try:
        return await sending.send(ctx, caller, replace(draft, upload_ids=tuple(copies)), message_id)
    finally:
        for copy in copies:
            if copy not in draft.upload_ids:
                with suppress(Refusal):  # the message has taken it
                    await uploads.delete(ctx, account_id, copy)


async def prepare(
    api: Api, caller: Caller, call: Call, call_input: CallInput, texts_of: TextsOf | None = None
) -> Prepared:
    """What is to be sent.

    ``shown`` gives the texts that the API shows of a message, where they are not the outputs': by
    them the history's last answer is known again.

    Raises ``not_found`` for a message that it goes on from, ``invalid_request`` for a text that
    does not answer that one's typed question, and `NotInThisApi`.
    """
    message = call_input.transcript.message(call_input.where)
    utterances = call_input.transcript.utterances
    scope = [*call_input.scope, call_input.conversation, call_input.message_id]
    history = () if call_input.has_history else utterances[:-1]
    instructions = call_input.transcript.instructions

    def compose() -> tuple[NewMessage, NewMessage]:
        draft = _without_text(api, call, call_input, message, scope)
        return draft, _with_text(draft, instructions, history, message)

    draft, anew = await api.ctx.account_threads.run(caller.account_id, compose)
    if call_input.message_id is not None:
        previous = (await followers.look(api.ctx, caller, call_input.message_id)).snapshot
        anew = replace(anew, conversation_id=previous.message.conversation_id)
        answer = sending.answering(replace(anew, text=message.text.strip()), previous)
        return Prepared((), anew if answer.answer_to is None else answer)
    if call_input.conversation is not None or len(utterances) < 3:
        return Prepared((), anew)

    def recognize_past() -> tuple[str, str]:
        return topic(utterances[:-2], scope), bare_text(utterances[-2].text)

    earlier, answer_text = await api.ctx.account_threads.run(caller.account_id, recognize_past)
    goes_on = _with_text(draft, instructions, (), message)
    going_on = [
        _going_on(goes_on, before, message.text)
        for before in await messages.last_ones(api.ctx, caller, earlier)
        if _is_of(before, utterances[-2].item_ids)
        and _has_shown(before, answer_text, texts_of or partial(_texts, api))
    ]
    return Prepared(going_on, anew)


def _without_text(
    api: Api, call: Call, call_input: CallInput, message: Utterance, scope: Sequence[object]
) -> NewMessage:
    """The message without its text."""
    utterances = call_input.transcript.utterances
    contents = [
        call_input.transcript.instructions,
        [each.text for each in utterances],
        call_input.response_schema,
    ]
    own = topic(utterances, scope)
    attempt = Attempt(own, call.body_hash, call.retry_count, call.arrived_at)
    name = call_input.conversation
    return NewMessage(
        files=tuple(message.files),
        upload_ids=tuple(dict.fromkeys(message.upload_ids)),
        conversation=new_id(ids.CONVERSATION, api.ctx.clock.now()) if name is None else name,
        metadata=call_input.metadata or None,
        response_schema=call_input.response_schema,
        idempotency_key=call.idempotency_key,
        original_hash=digest([*contents, topic(utterances, [call_input.message_id])]),
        attempt=attempt if call.idempotency_key is None else None,
        held=False,
    )


def _with_text(
    draft: NewMessage, instructions: Sequence[str], history: Sequence[Utterance], message: Utterance
) -> NewMessage:
    """The draft with its text and the files of what was said before, as far as there is room; an
    upload belongs to the message that brought it."""
    text, context = text_with_context(instructions, history, message.text)
    earlier = [file for utterance in history for file in utterance.files]
    room = max(0, INLINE_FILES_MAX - len(draft.files) - len(context))
    newest = earlier[max(0, len(earlier) - room) :]
    return replace(draft, text=text.strip(), files=(*newest, *draft.files, *context))


def _going_on(draft: NewMessage, before: Snapshot, text: str) -> NewMessage:
    """The draft in the conversation of the message before it, whose typed question it answers when
    its bare text can."""
    draft = replace(
        draft, conversation_id=before.message.conversation_id, follows=before.message.id
    )
    try:
        answer = sending.answering(replace(draft, text=text.strip()), before)
    except InvalidRequest:
        return draft
    return draft if answer.answer_to is None else answer


def _is_of(before: Snapshot, item_ids: Sequence[str]) -> bool:
    """Whether the items of a history's answer, as far as they are ours, are the message's."""
    sources = {before.message.id, *(link.job.id for link in before.links)}
    own = [sources_of(item_id) for item_id in item_ids]
    return not any(each and sources.isdisjoint(each) for each in own)


def _has_shown(before: Snapshot, answer_text: str, texts_of: TextsOf) -> bool:
    """Whether a history's answer is what the message has brought, or had brought when it was
    shown."""
    texts = [bare_text(text) for text in texts_of(before)]
    counts = range(min(1, len(texts)), len(texts) + 1)
    return any("".join(texts[:count]) == answer_text for count in counts)


def _texts(api: Api, snapshot: Snapshot) -> list[str]:
    return [output.shown for output in outputs_of(snapshot, api.ctx.links)]
