"""Send the message of a call: in the conversation that it goes on with, and once, however often its
client repeats the call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request

from agentpost.api.body import in_turn
from agentpost.api.long_texts import TakenApart
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.contract.shape import Links
from agentpost.domain import ids
from agentpost.domain.errors import InvalidRequest, Refusal
from agentpost.domain.limits import BODY_REST_BYTES_MAX, INLINE_FILES_MAX
from agentpost.doors import bodies, sending
from agentpost.doors.openai import parameters
from agentpost.doors.openai.content import FILES_AT, Utterance
from agentpost.doors.openai.models import model_names
from agentpost.doors.openai.transcripts import (
    Transcript,
    bare_text,
    digest,
    text_with_context,
    topic,
)
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

TextsOf = Callable[[Snapshot, Links], list[str]]
_QUESTION = "_question"
RETRY_COUNT = b"x-stainless-retry-count"
"""How often OpenAI's clients have repeated a call; they do it on a timeout, without a key."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An output item that is named only: its text belongs into ``answer``, at ``place``."""

    item_id: str
    answer: Utterance
    place: int


@dataclass(slots=True)
class CallInput:
    """What a call asks for.

    ``where`` is the place of its messages in the body. ``scope`` says whose they are
    (`parameters.scope_of`). ``conversation`` and ``message_id``, a message of it, say what they go
    on from; else the history says it. ``has_history``: the conversation has it already. The last
    four say whether the request repeats another.
    """

    where: str
    scope: Sequence[object]
    conversation: str | None
    metadata: dict[str, str] | None
    response_schema: dict[str, Any] | None
    ignored: list[str]
    stream: bool
    background: bool = False
    include_usage: bool = False
    message_id: str | None = None
    has_history: bool = False
    transcript: Transcript = field(default_factory=Transcript)
    references: list[Reference] = field(default_factory=list)
    body_hash: str = ""
    idempotency_key: str | None = None
    retry_count: int = 0
    arrived_at: int = 0

    @classmethod
    def of(
        cls,
        body: Mapping[str, Any],
        where: str,
        response_schema: dict[str, Any] | None,
        ignored_names: Sequence[str],
    ) -> "CallInput":
        """From the parameters that all APIs have; raises ``invalid_request``."""
        return cls(
            where=where,
            scope=parameters.scope_of(body),
            conversation=parameters.conversation_of(body),
            metadata=parameters.metadata_of(body),
            response_schema=response_schema,
            ignored=sorted(ignored_names),
            stream=parameters.flag(body, "stream"),
        )


async def read_call(
    api: Api,
    request: Request,
    caller: Caller,
    understand: Callable[[Mapping[str, Any], Sequence[str]], CallInput],
) -> CallInput:
    """Read what a call that sends something asks for. ``understand`` gets its body, in which
    `LongText` stand for the contents of large files, and the names that the agent has.
    Raises as that and `bodies.read_json`, and ``invalid_request``."""
    idempotency_key = idempotency_key_of(request)
    count = (header(request, RETRY_COUNT) or "").strip()
    data = await bodies.read_json(api, request, caller)

    def read_call() -> CallInput:
        body = bodies.parse_body(data, FILES_AT, BODY_REST_BYTES_MAX)
        parts: object = None
        if isinstance(data, TakenApart):
            parts = [data.rest_hash(), *(text.sha256() for text in data.texts.values())]
        else:
            parts = bytes(data)
        call_input = understand(body, model_names(api))
        call_input.body_hash = digest(parts)
        call_input.idempotency_key = idempotency_key
        if count.isascii() and count.isdigit() and len(count) < 4:
            call_input.retry_count = int(count)
        call_input.arrived_at = state_of(request.scope).at
        return call_input

    return await in_turn(api, request, data, read_call)


async def send(
    api: Api, caller: Caller, drafts: Sequence[NewMessage], message_id: str | None = None
) -> MessageRecord:
    """`sending.send` for the first of these drafts that nothing has overtaken; see `prepare`."""
    for draft in drafts[:-1]:
        # A call with the same history may be faster, and the conversation is its own then.
        with suppress(Overtaken):
            return await _send(api, caller, draft, message_id)
    return await _send(api, caller, drafts[-1], message_id)


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
    api: Api, caller: Caller, call_input: CallInput, texts_of: TextsOf
) -> list[NewMessage]:
    """The message that is to be sent, in each of the conversations that it may go on with, and last
    in a new one.

    ``texts_of`` gives the texts that the API shows of a message: by them the history's last answer
    is known again.

    Raises ``not_found`` for a message that it goes on from, ``invalid_request`` for a text that
    does not answer that one's typed question, and `NotInThisApi`.
    """
    message = call_input.transcript.message(call_input.where)
    utterances = call_input.transcript.utterances
    scope = [*call_input.scope, call_input.conversation, call_input.message_id]
    history = () if call_input.has_history else utterances[:-1]
    instructions = call_input.transcript.instructions

    def compose() -> tuple[NewMessage, NewMessage]:
        draft = _without_text(api, call_input, message, scope)
        return draft, _with_text(draft, instructions, history, message)

    draft, anew = await api.ctx.account_threads.run(caller.account_id, compose)
    if call_input.message_id is not None:
        previous = (await followers.look(api.ctx, caller, call_input.message_id)).snapshot
        anew = replace(anew, conversation_id=previous.message.conversation_id)
        answer = sending.answering(replace(anew, text=message.text.strip()), previous)
        return [anew if answer.answer_to is None else answer]
    if call_input.conversation is not None or len(utterances) < 3:
        return [anew]

    def recognize_past() -> tuple[str, str]:
        return topic(utterances[:-2], scope), bare_text(utterances[-2].text)

    earlier, answer_text = await api.ctx.account_threads.run(caller.account_id, recognize_past)
    goes_on = _with_text(draft, instructions, (), message)
    going_on = [
        _going_on(goes_on, before, message.text)
        for before in await messages.last_ones(api.ctx, caller, earlier)
        if _is_of(before, utterances[-2].item_ids)
        and _has_shown(texts_of(before, api.ctx.links), answer_text)
    ]
    return [*going_on, anew]


def _without_text(
    api: Api, call_input: CallInput, message: Utterance, scope: Sequence[object]
) -> NewMessage:
    """The message without its text."""
    utterances = call_input.transcript.utterances
    contents = [
        call_input.transcript.instructions,
        [each.text for each in utterances],
        call_input.response_schema,
    ]
    own = topic(utterances, scope)
    key = call_input.idempotency_key
    attempt = Attempt(own, call_input.body_hash, call_input.retry_count, call_input.arrived_at)
    name = call_input.conversation
    return NewMessage(
        files=tuple(message.files),
        upload_ids=tuple(dict.fromkeys(message.upload_ids)),
        conversation=new_id(ids.CONVERSATION, api.ctx.clock.now()) if name is None else name,
        metadata=call_input.metadata or None,
        response_schema=call_input.response_schema,
        idempotency_key=key,
        original_hash=digest([*contents, topic(utterances, [call_input.message_id])]),
        attempt=attempt if key is None else None,
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


def sources_of(item_id: str) -> tuple[str, str] | None:
    """The message and the job, one of which the output item with that id belongs to; None for an id
    that is not of this server's making."""
    message_id = item_id.removesuffix(_QUESTION)
    if not ids.is_id(ids.MESSAGE, message_id):
        return None
    return message_id, ids.JOB + message_id.removeprefix(ids.MESSAGE)


def _is_of(before: Snapshot, item_ids: Sequence[str]) -> bool:
    """Whether the items of a history's answer, as far as they are ours, are the message's."""
    sources = {before.message.id, *(link.job.id for link in before.links)}
    own = [sources_of(item_id) for item_id in item_ids]
    return not any(each and sources.isdisjoint(each) for each in own)


def _has_shown(shown_texts: Sequence[str], answer_text: str) -> bool:
    """Whether a history's answer is what the message has brought, or had brought when it was
    shown."""
    texts = [bare_text(text) for text in shown_texts]
    counts = range(min(1, len(texts)), len(texts) + 1)
    return any("".join(texts[:count]) == answer_text for count in counts)
