"""OpenAI's Chat Completions API, which most front ends and libraries speak."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import admission
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.contract.shape import Links
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.domain.times import SECOND
from agentpost.doors.openai import parameters, sending, streams
from agentpost.doors.openai.content import Utterance, schema_of, take_content, text_of
from agentpost.doors.openai.errors import code_of, wrong
from agentpost.doors.openai.parameters import OWN_MODEL, Rules, flag
from agentpost.doors.openai.responses import BETWEEN, Echo, Json, ResponseStream, with_separator
from agentpost.doors.openai.sending import CallInput
from agentpost.doors.openai.states import error_of, incomplete_of, is_over
from agentpost.doors.openai.transcripts import Transcript
from agentpost.doors.outputs import Output, explanation_of, outputs_of
from agentpost.following.followers import Moment
from agentpost.http.headers import header
from agentpost.messages import lists
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.rules import MessageStatus
from agentpost.messages.shapes import FileShape, MessageShape
from agentpost.record.events import EntryType
from agentpost.record.records import Snapshot

CONVERSATION: Final = "X-Agentpost-Conversation"
"""The header that names the conversation, of the request and of the response."""
FAILED: Final = 422
"""The status for work that failed: clients repeat a 409, a 429 and a 5xx by themselves, which would
do the work once more."""


async def create(api: Api, request: Request, caller: Caller) -> Response:
    """POST /chat/completions: send the last message, then hold the call or stream."""
    call_input = await sending.read_call(api, request, caller, call_input_of)
    call_input.conversation = header(request, CONVERSATION.lower().encode()) or (
        call_input.conversation
    )
    await admission.held_call(api.ctx, caller)
    call_input.has_history = await _is_there(api, caller, call_input)
    links = api.ctx.links
    drafts = await sending.prepare(api, caller, call_input, texts_of)
    echo = Echo(call_input.ignored, include_usage=call_input.include_usage)
    if call_input.stream:
        stream = CompletionStream(links, echo)
        return await streams.response(stream, streams.send(api, caller, drafts, stream))
    message = await sending.send(api, caller, drafts)
    moment = await streams.wait_for_end(api, request, caller, message.id)
    naming_headers = _naming(moment.conversation)
    error = error_of(moment.snapshot, moment.cancelled)
    if error is not None:
        return JSONResponse({"error": error}, FAILED, {**naming_headers, "x-should-retry": "false"})
    return JSONResponse(completion(moment, links, echo), headers=naming_headers)


def _naming(conversation: str) -> dict[str, str]:
    """The header of the response; the body alone has a name that no header can have."""
    can_be_sent = conversation.isascii() and conversation.isprintable()
    return {CONVERSATION: conversation} if can_be_sent else {}


async def _is_there(api: Api, caller: Caller, call_input: CallInput) -> bool:
    """Whether the conversation that the call names has messages: they are the history then."""
    if call_input.conversation is None:
        return False
    of_it = MessageFilter(conversation=call_input.conversation)
    page = await lists.list_page(api.ctx, caller, of_it, before=None, limit=1)
    return bool(page.messages)


# --- the body of a call ---------------------------------------------------------------------------
_TAKEN: Final = frozenset(
    {"model", "messages", "stream", "response_format", "metadata", "store", "conversation"}
)
_RULES: Final[Rules] = {
    "n": (lambda value: value in (None, 1), "there is one answer to a message: leave n out"),
    "modalities": (lambda value: value in (None, ["text"]), "answers are texts and files"),
    "audio": (parameters.is_empty, "answers are texts and files"),
}
_REASONING: Final = (('<details type="reasoning"', "</details>"), ("<think>", "</think>"))
"""How front ends keep ``reasoning_content`` in the text of an answer."""


def call_input_of(body: Mapping[str, Any], models: Sequence[str]) -> CallInput:
    """Understand a body; ``models`` are the names that the agent has. Raises `NotInThisApi` for a
    parameter that cannot be kept, and ``invalid_request``."""
    ignored_names = parameters.check(body, _TAKEN, _RULES, unknown_are_ignored=True)
    parameters.check_model(body, models)
    schema = _schema(_object(body, "response_format"))
    call_input = CallInput.of(body, "messages", schema, ignored_names)
    call_input.include_usage = flag(_object(body, "stream_options"), "include_usage")
    _take_messages(body.get("messages"), call_input.transcript)
    return call_input


def _schema(response_format: Mapping[str, Any]) -> dict[str, Any] | None:
    where = "response_format"
    if response_format.get("type") != "json_schema":
        return schema_of(response_format, where)
    json_schema = response_format.get("json_schema")
    if not isinstance(json_schema, dict):
        raise wrong(f"{where}.json_schema", "must be an object with a schema")
    return schema_of({"type": "json_schema", **json_schema}, f"{where}.json_schema")


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name) or {}
    if isinstance(value, dict):
        return value
    raise wrong(name, "must be an object")


def _take_messages(messages: Any, transcript: Transcript) -> None:
    if not isinstance(messages, list) or not messages:
        raise wrong("messages", "must be a list with a message of the user at its end")
    for n, message in enumerate(parameters.items_of(messages, "messages")):
        where = f"messages[{n}]"
        if not isinstance(message, dict):
            raise wrong(where, "must be an object")
        role, content, place = message.get("role"), message.get("content"), f"{where}.content"
        if role == "assistant":
            utterance = Utterance("assistant")
            if content is not None:  # tools were called instead
                take_content(content, place, utterance)
            transcript.side("assistant").texts.append(_as_answered(utterance.text))
        elif role in ("tool", "function"):  # of another model
            side = transcript.side("assistant")
            side.texts.append(f"\n[Result of a tool] {text_of(content, place)}")
        else:
            transcript.take(role, content, where)


def _as_answered(text: str) -> str:
    """An answer without what the front end added, and without our word that the work goes on."""
    for opening, closing in _REASONING:
        text = _without(text, opening, closing)
    return text.strip().removesuffix(GOES_ON).rstrip()


def _without(text: str, opening: str, closing: str) -> str:
    """The text without what stands between the two. It is read once: a regular expression reads
    all of it again for each opening that is never closed."""
    rest, at = [], 0
    while (begin := text.find(opening, at)) >= 0:
        end = text.find(closing, begin)
        if end < 0:
            break
        rest.append(text[at:begin])
        at = end + len(closing)
    return "".join((*rest, text[at:]))


# --- the completion -------------------------------------------------------------------------------
GOES_ON: Final = "*The work goes on. Write again in this chat to hear how it ends.*"
"""The end of an answer whose call was held for as long as one is."""


def completion(moment: Moment, links: Links, echo: Echo) -> Json:
    """The completion of a message. ``agentpost`` is the message as the API itself shows it."""
    texts = texts_of(moment.snapshot, links)
    if not is_over(moment):
        texts.append(with_separator(waiting_text(moment), len(texts)))
    shown = _show(moment, links, echo)
    message = {"role": "assistant", "content": "".join(texts), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None}
    return {
        **_head(moment, "chat.completion"),
        "choices": [{**choice, "finish_reason": _finish_reason(moment)}],
        "usage": _usage(shown),
        "agentpost": shown,
    }


def _head(moment: Moment, kind: str) -> Json:
    message = moment.snapshot.message
    return {
        "id": f"chatcmpl-{message.id.removeprefix(ids.MESSAGE)}",
        "object": kind,
        "created": message.created_at // SECOND,
        "model": OWN_MODEL,
    }


def _finish_reason(moment: Moment) -> str:
    """``length`` tells a program that this is not all of the answer."""
    is_cut_short = incomplete_of(moment.snapshot) == {"reason": "max_output_tokens"}
    return "stop" if is_over(moment) and not is_cut_short else "length"


def _usage(shown: Json) -> Json:
    """Tokens are not counted, see the Responses API."""
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
    return {**counts, "credits_used": shown["credits_used"]}


def _show(moment: Moment, links: Links, echo: Echo) -> Json:
    shape = msgspec.to_builtins(MessageShape.of(moment.snapshot, links))
    return {**shape, "conversation": moment.conversation, "ignored": list(echo.ignored)}


# --- the answer's text ----------------------------------------------------------------------------
def texts_of(snapshot: Snapshot, links: Links) -> list[str]:
    """What the answer consists of: the outputs with links to their files, then what a person has to
    know. When JSON was asked for, nothing but that."""
    parts = outputs_of(snapshot, links)
    if snapshot.message.response_schema_json is not None:
        return [output.text for output in parts]
    texts = [
        f"{with_separator(output.text, n)}{file_links(output, n)}" for n, output in enumerate(parts)
    ]
    return [*texts, *(with_separator(text, len(texts)) for text in notes_of(snapshot, links))]


def file_links(output: Output, index: int) -> str:
    """The files of an output in Markdown, which goes behind its text."""
    lines = BETWEEN.join(map(_file_link, output.files))
    return with_separator(lines, index or int(bool(output.text)))


def _file_link(file: FileShape) -> str:
    name = file.name.replace("[", "(").replace("]", ")")
    is_picture = file.content_type.startswith("image/")
    return f"{'!' if is_picture else ''}[{name}]({file.url})"


def notes_of(snapshot: Snapshot, links: Links) -> list[str]:
    """What stands behind the outputs of a message that is final: what went wrong, what became of
    the files that were sent, what the question may be answered with."""
    message = snapshot.message
    if not message.final:
        return []
    shape = MessageShape.of(snapshot, links)
    texts = [f"*Note: {note}*" for note in shape.notes]
    if message.status is MessageStatus.PARTIAL:
        texts.append(explanation_of(snapshot, message.reason))
    form = shape.answer_format
    if form is not msgspec.UNSET and form is not None and form.choices:
        texts.append("\n".join(f"- {choice}" for choice in form.choices))
    return texts


def waiting_text(moment: Moment) -> str:
    """What the answer ends with when the work has not ended; nothing where JSON was asked for."""
    if moment.snapshot.message.response_schema_json is not None:
        return ""
    reason = moment.snapshot.message.reason
    return explanation_of(moment.snapshot, reason) if moment.waits_for_credits else GOES_ON


# --- the stream -----------------------------------------------------------------------------------
class CompletionStream:
    """See `doors.openai.streams.Frames`."""

    def __init__(self, links: Links, echo: Echo) -> None:
        self._links = links
        self._echo = echo
        self._responses = ResponseStream(links, Echo(), -1)
        self._has_text = False
        self._item = ""  # what was sent of the output that is being shown
        self._has_begun = False
        self.headers: dict[str, str] = {}
        """Of the response, once there was a moment: they name the conversation."""

    def frames(self, moment: Moment) -> Iterator[str]:
        """What is new in a moment: the steps of the work as reasoning, and text."""
        self.headers = _naming(moment.conversation)
        if not self._has_begun:
            self._has_begun = True
            yield _frame(self._chunk(moment, {"role": "assistant", "content": ""}))
        for entry in moment.entries:
            step = json.loads(entry.body_json).get("step")
            if entry.type == EntryType.PROGRESS and step:
                yield _frame(self._chunk(moment, {"reasoning_content": f"{step}\n"}))
        outputs = outputs_of(moment.snapshot, self._links)
        for event in self._responses.events(moment):
            yield from self._of_event(moment, outputs, event)

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream: the rest of the answer, or why there is none."""
        error = error_of(moment.snapshot, moment.cancelled)
        if error is not None:
            yield _frame({"error": error})
            return
        rest = [] if is_over(moment) else [waiting_text(moment)]
        if moment.snapshot.message.response_schema_json is None:
            rest = [*notes_of(moment.snapshot, self._links), *rest]
        for text in rest:
            if text:
                yield self._text(moment, f"{BETWEEN if self._has_text else ''}{text}")
        shown = _show(moment, self._links, self._echo)
        last = {**self._chunk(moment, {}, _finish_reason(moment)), "agentpost": shown}
        yield _frame(last)
        if self._echo.include_usage:
            yield _frame({**last, "choices": [], "usage": _usage(shown)})
        yield "data: [DONE]\n\n"

    def refusal_frame(self, refusal: Refusal) -> str:
        """A refusal in the middle of the stream."""
        error = {"message": refusal.message, "type": "invalid_request_error", "param": None}
        return _frame({"error": {**error, "code": code_of(refusal)}})

    def _of_event(self, moment: Moment, outputs: list[Output], event: Json) -> Iterator[str]:
        kind = event["type"].removeprefix("response.")
        index: int = event.get("output_index", 0)
        if kind == "output_item.added":
            self._item = ""
        elif kind == "output_text.delta":
            if index < len(outputs) and not outputs[index].text:
                return  # the names of its files, which come as links
            self._item += event["delta"]
            yield self._text(moment, event["delta"])
        elif kind == "output_item.done" and event["item"]["status"] == "completed":
            output = outputs[index]
            text = with_separator(output.text, index)
            if not text.startswith(self._item):
                yield self._text(moment, f"{BETWEEN}{output.text}")
            elif text != self._item:
                yield self._text(moment, text.removeprefix(self._item))
            links = file_links(output, index)
            if links and moment.snapshot.message.response_schema_json is None:
                yield self._text(moment, links)

    def _text(self, moment: Moment, text: str) -> str:
        self._has_text = self._has_text or bool(text)
        return _frame(self._chunk(moment, {"content": text}))

    def _chunk(self, moment: Moment, delta: Json, finish_reason: str | None = None) -> Json:
        """A chunk that has a piece of the answer, or says why it ends."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._echo.include_usage else {}
        return {**_head(moment, "chat.completion.chunk"), "choices": [choice], **usage}


def _frame(data: Json) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
