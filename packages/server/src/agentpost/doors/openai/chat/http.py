"""The call of the Chat Completions API."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import admission
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.contract.shape import Links
from agentpost.domain.errors import Refusal
from agentpost.doors.openai import sending, streams
from agentpost.doors.openai.chat import params, shapes
from agentpost.doors.openai.chat.shapes import Echo, Json
from agentpost.doors.openai.errors import code_of
from agentpost.doors.openai.responses import shapes as response_shapes
from agentpost.doors.openai.responses.stream import ResponseStream
from agentpost.doors.openai.sending import CallInput
from agentpost.doors.openai.states import error_of, is_over
from agentpost.doors.outputs import Output, outputs_of
from agentpost.following.followers import Moment
from agentpost.http.headers import header
from agentpost.messages import lists
from agentpost.messages.filter_rules import MessageFilter
from agentpost.record.events import EntryType

CONVERSATION: Final = "X-Agentpost-Conversation"
"""The header that names the conversation, of the request and of the response."""
FAILED: Final = 422
"""The status for work that failed: clients repeat a 409, a 429 and a 5xx by themselves, which would
do the work once more."""


async def create(api: Api, request: Request, caller: Caller) -> Response:
    """POST /chat/completions: send the last message, then hold the call or stream."""
    call, completion = await sending.read_call(api, request, caller, params.completion)
    call_input = completion.call_input
    call_input.conversation = header(request, CONVERSATION.lower().encode()) or (
        call_input.conversation
    )
    await admission.held_call(api.ctx, caller)
    call_input.has_history = await _is_there(api, caller, call_input)
    links = api.ctx.links
    texts_of = partial(shapes.texts_of, links=links)
    outgoing = await sending.prepare(api, caller, call, call_input, texts_of)
    echo = Echo(call_input.ignored, completion.include_usage)
    if completion.stream:
        stream = CompletionStream(links, echo)
        events = streams.send(api, caller, outgoing, stream)
        first = await anext(events)
        naming_headers = _naming(stream.conversation)
        return streams.response(stream, events, first, naming_headers)
    message = await outgoing.send(api, caller)
    moment = await streams.wait_for_end(api, request, caller, message.id)
    naming_headers = _naming(moment.conversation)
    error = error_of(moment.snapshot, moment.cancelled)
    if error is not None:
        return JSONResponse({"error": error}, FAILED, {**naming_headers, "x-should-retry": "false"})
    return JSONResponse(shapes.completion(moment, links, echo), headers=naming_headers)


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


class CompletionStream:
    """See `doors.openai.streams.Frames`."""

    def __init__(self, links: Links, echo: Echo) -> None:
        self._links = links
        self._echo = echo
        self._responses = ResponseStream(links, response_shapes.Echo(), -1)
        self._sent = ""
        self._item = ""  # what was sent of the output that is being shown
        self._has_begun = False
        self.conversation = ""
        """The name of the message's conversation, once there was a moment."""

    def frames(self, moment: Moment) -> Iterator[str]:
        """What is new in a moment: the steps of the work as reasoning, and text."""
        self.conversation = moment.conversation
        if not self._has_begun:
            self._has_begun = True
            yield self._chunk(moment, {"role": "assistant", "content": ""})
        for entry in moment.entries:
            step = json.loads(entry.body_json).get("step")
            if entry.type == EntryType.PROGRESS and step:
                yield self._chunk(moment, {"reasoning_content": f"{step}\n"})
        outputs = outputs_of(moment.snapshot, self._links)
        for event in self._responses.events(moment):
            yield from self._of_event(moment, outputs, event)

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream: the rest of the answer, or why there is none."""
        error = error_of(moment.snapshot, moment.cancelled)
        if error is not None:
            yield _frame({"error": error})
            return
        rest = [] if is_over(moment) else [shapes.waiting_text(moment)]
        if moment.snapshot.message.response_schema_json is None:
            rest = [*shapes.notes_of(moment.snapshot, self._links), *rest]
        for text in rest:
            if text:
                yield self._text(moment, f"{response_shapes.BETWEEN if self._sent else ''}{text}")
        for last in shapes.last_chunks(moment, self._links, self._echo):
            yield _frame(last)
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
            text = response_shapes.with_separator(output.text, index)
            if not text.startswith(self._item):
                yield self._text(moment, f"{response_shapes.BETWEEN}{output.text}")
            elif text != self._item:
                yield self._text(moment, text.removeprefix(self._item))
            links = shapes.file_links(output, index)
            if links and moment.snapshot.message.response_schema_json is None:
                yield self._text(moment, links)

    def _text(self, moment: Moment, text: str) -> str:
        self._sent += text
        return self._chunk(moment, {"content": text})

    def _chunk(self, moment: Moment, delta: Json) -> str:
        return _frame(shapes.chunk(moment, self._echo, delta))


def _frame(data: Json) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
