"""The part of OpenAI's Responses API that an agent with durable work can keep."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import admission
from agentpost.api.operation import Api, Query
from agentpost.api.query import int_param
from agentpost.caller import Caller
from agentpost.contract.shape import Links
from agentpost.domain import ids
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.limits import INT_PARAM_MAX
from agentpost.domain.times import SECOND
from agentpost.doors.openai import parameters, sending, streams
from agentpost.doors.openai.content import schema_of, take_content, text_of
from agentpost.doors.openai.errors import code_of, unsupported_value, wrong
from agentpost.doors.openai.parameters import OWN_MODEL, Rules, flag
from agentpost.doors.openai.sending import CallInput, Reference, sources_of
from agentpost.doors.openai.states import TERMINAL, error_of, incomplete_of, status_of
from agentpost.doors.outputs import Output, changed_at, next_source, outputs_of, shown_texts
from agentpost.doors.writing import Text, Texts, piece_end, pieces, read
from agentpost.following import followers
from agentpost.following.followers import Moment
from agentpost.messages import lists
from agentpost.messages.shapes import MessageShape
from agentpost.record.records import MessageRecord

Json = dict[str, Any]
_STARTING_AFTER: Final = Query("starting_after", "", 0, INT_PARAM_MAX, -1)


async def create(api: Api, request: Request, caller: Caller) -> Response:
    """POST /responses: send it, then answer, hold or stream as it asks."""
    call_input = await sending.read_call(api, request, caller, call_input_of)
    if call_input.stream or not call_input.background:
        await admission.held_call(api.ctx, caller)
    for reference in call_input.references:
        output = await _output(api, caller, reference.item_id)
        reference.answer.texts[reference.place] = output.shown
    drafts = await sending.prepare(api, caller, call_input, shown_texts)
    previous = response_id_of(call_input.message_id) if call_input.message_id else None
    echo = Echo(call_input.ignored, call_input.background, previous)
    if call_input.stream:
        stream = ResponseStream(api.ctx.links, echo, -1)
        return await streams.response(stream, streams.send(api, caller, drafts, stream))
    message = await sending.send(api, caller, drafts)
    if call_input.background:
        moment = await followers.look(api.ctx, caller, message.id)
    else:
        moment = await streams.wait_for_end(api, request, caller, message.id)
    return JSONResponse(response(moment, api.ctx.links, echo))


async def _output(api: Api, caller: Caller, item_id: str) -> Output:
    """The output that an item shows; raises ``not_found``."""
    sources = sources_of(item_id)
    if sources is None:
        raise not_found("item")
    moment = await followers.look_at_maker(api.ctx, caller, sources)
    for output in outputs_of(moment.snapshot, api.ctx.links):
        if item_id_of(output.id) == item_id:
            return output
    raise not_found("item")


async def retrieve(api: Api, request: Request, caller: Caller) -> Response:
    """GET /responses/{id}; with ``stream=true`` from behind ``starting_after``."""
    message_id = _message_id(request)
    moment = await followers.look(api.ctx, caller, message_id)
    if request.query_params.get("stream") != "true":
        return JSONResponse(response(moment, api.ctx.links))
    after = int_param(request, _STARTING_AFTER)
    await admission.held_call(api.ctx, caller)
    stream = ResponseStream(api.ctx.links, Echo(), after)
    return await streams.response(stream, streams.follow(api, caller, message_id, stream))


async def cancel(api: Api, request: Request, caller: Caller) -> Response:
    message_id = _message_id(request)
    await lists.cancel(api.ctx, caller, message_id)
    moment = await followers.look(api.ctx, caller, message_id)
    return JSONResponse(response(moment, api.ctx.links))


async def delete(api: Api, request: Request, caller: Caller) -> Response:
    """The message goes; the works that it made, and their files, stay."""
    message_id = _message_id(request)
    await lists.delete(api.ctx, caller, message_id)
    return JSONResponse({"id": response_id_of(message_id), "object": "response", "deleted": True})


async def input_items(api: Api, request: Request, caller: Caller) -> Response:
    """The text that was sent; files are not given back."""
    message_id = _message_id(request)
    message = (await followers.look(api.ctx, caller, message_id)).snapshot.message
    item = {
        "id": f"{message_id}_input",
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_text", "text": message.text}],
    }
    place = {"first_id": item["id"], "last_id": item["id"], "has_more": False}
    return JSONResponse({"object": "list", "data": [item], **place})


def _message_id(request: Request) -> str:
    message_id = message_id_of(request.path_params["response_id"])
    if message_id is None:
        raise not_found("response")
    return message_id


# --- ids: another prefix before the tail of our own -----------------------------------------------
RESPONSE: Final = "resp_"


def message_id_of(response_id: str) -> str | None:
    """The message that a response stands for; None for what is no id of a response."""
    message_id = ids.MESSAGE + response_id.removeprefix(RESPONSE)
    is_one = response_id.startswith(RESPONSE) and ids.is_id(ids.MESSAGE, message_id)
    return message_id if is_one else None


def response_id_of(message_id: str) -> str:
    """The response that stands for a message."""
    return RESPONSE + message_id.removeprefix(ids.MESSAGE)


def item_id_of(source: str) -> str:
    """The id of the item that shows an output, by the id of the output: all items of OpenAI's API
    that are messages have one prefix."""
    return ids.MESSAGE + source.partition("_")[2]


# --- the body of a call ---------------------------------------------------------------------------
_TAKEN: Final = frozenset(
    {
        "model", "input", "instructions", "background", "stream", "store", "metadata",
        "previous_response_id", "conversation",
    }
)  # fmt: skip
_LEFT_OUT: Final = ("reasoning", "compaction")
"""Items that say how a model came to an answer."""


def _is_known_format(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or value.keys() - {"format", "verbosity"}:
        return False
    return isinstance(value.get("format") or {}, dict)


_RULES: Final[Rules] = {
    "text": (_is_known_format, "only text is given out, or JSON that fits a json_schema"),
    "image": (parameters.is_empty, "the agent decides how pictures are made"),
    "access_programs": (parameters.is_empty, "there are none"),
}


def call_input_of(body: Mapping[str, Any], models: Sequence[str]) -> CallInput:
    """Understand a body; ``models`` are the names that the agent has. Raises `NotInThisApi` for a
    parameter that cannot be kept, and ``invalid_request``."""
    ignored_names = parameters.check(body, _TAKEN, _RULES)
    parameters.check_model(body, models)
    schema = schema_of((body.get("text") or {}).get("format") or {}, "text.format")
    call_input = CallInput.of(body, "input", schema, ignored_names)
    call_input.background = flag(body, "background")
    previous = body.get("previous_response_id")
    if previous is not None:
        if call_input.conversation is not None:
            raise wrong("previous_response_id", "cannot be given together with conversation")
        call_input.message_id = message_id_of(previous) if isinstance(previous, str) else None
        if call_input.message_id is None:
            raise wrong("previous_response_id", "is no id of a response")
    transcript = call_input.transcript
    instructions = body.get("instructions")
    if instructions is not None:
        transcript.instructions.append(text_of(instructions, "instructions"))
    content = body.get("input")
    if isinstance(content, list):
        for n, item in enumerate(parameters.items_of(content, "input")):
            _take_item(item, f"input[{n}]", call_input)
    elif content is not None:
        take_content(content, "input", transcript.side("user"))
    return call_input


def _take_item(item: Any, where: str, call_input: CallInput) -> None:
    transcript = call_input.transcript
    kind = item.get("type", "message") if isinstance(item, dict) else None
    item_id = item.get("id") if isinstance(item, dict) else None
    if kind in _LEFT_OUT:
        return
    if kind == "item_reference" and isinstance(item_id, str):
        answer = transcript.side("assistant")
        answer.item_ids.append(item_id)
        call_input.references.append(Reference(item_id, answer, len(answer.texts)))
        answer.texts.append("")
        return
    if kind != "message":
        raise unsupported_value(
            where,
            "only messages are taken: the agent calls its own tools, so put the results of others"
            " into a message",
        )
    role = item.get("role")
    transcript.take(role, item.get("content"), where)
    if isinstance(item_id, str) and role == "assistant":
        transcript.side(role).item_ids.append(item_id)


# --- the response ---------------------------------------------------------------------------------
BETWEEN: Final = "\n\n"
"""The blank line between two outputs."""


@dataclass(frozen=True, slots=True)
class Echo:
    """What a call that sends something gets back of what it asked for; it is not stored."""

    ignored: Sequence[str] = ()
    """Parameters that have no effect."""
    background: bool | None = None
    previous_response_id: str | None = None
    include_usage: bool = False


def response(moment: Moment, links: Links, echo: Echo = Echo()) -> Json:
    """The Response of a message. ``agentpost`` is the message as the API itself shows it."""
    snapshot = moment.snapshot
    shape = MessageShape.of(snapshot, links)
    status = status_of(snapshot, moment.cancelled)
    ignored = {"ignored": list(echo.ignored)} if echo.ignored else {}
    return {
        **empty_response(moment, echo),
        "status": status,
        "error": error_of(snapshot, moment.cancelled),
        "incomplete_details": incomplete_of(snapshot),
        "metadata": shape.metadata if shape.metadata is not msgspec.UNSET else {},
        "output": [item(each, n) for n, each in enumerate(outputs_of(snapshot, links))],
        "completed_at": changed_at(snapshot) / SECOND if status == "completed" else None,
        "usage": _usage(shape.credits_used) if snapshot.message.final else None,
        "agentpost": {**msgspec.to_builtins(shape), **ignored},
    }


def empty_response(moment: Moment, echo: Echo) -> Json:
    """The Response as it was when it had brought nothing."""
    message = moment.snapshot.message
    nothing = (
        *("completed_at", "error", "incomplete_details", "instructions", "max_output_tokens"),
        *("reasoning", "usage"),
    )
    return {
        **dict.fromkeys(nothing),
        "id": response_id_of(message.id),
        "object": "response",
        "created_at": message.created_at / SECOND,
        "status": "in_progress",
        "model": OWN_MODEL,
        "background": echo.background,
        "previous_response_id": echo.previous_response_id,
        "conversation": {"id": moment.conversation},
        "metadata": {},
        "output": [],
        "parallel_tool_calls": True,
        "store": True,
        "temperature": 1.0,
        "text": {"format": _text_format(message)},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
    }


def _usage(credits_used: float) -> Json:
    """Tokens are the agent's own business and not counted; what work costs are credits."""
    return {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
        "credits_used": credits_used,
    }


def _text_format(message: MessageRecord) -> Json:
    if message.response_schema_json is None:
        return {"type": "text"}
    schema = json.loads(message.response_schema_json)
    return {"type": "json_schema", "name": "output", "schema": schema, "strict": True}


# --- outputs --------------------------------------------------------------------------------------
def item(output: Output, index: int) -> Json:
    """An output message with its text, in which each file is an annotation.

    The text of a second output and of later ones begins with a blank line: ``output_text`` of
    OpenAI's clients joins the texts with nothing between them.
    """
    return {**_item_head(output.id), "status": "completed", "content": [_part(output, index)]}


def _item_head(source: str) -> Json:
    return {"id": item_id_of(source), "type": "message", "role": "assistant"}


def _part(output: Output, index: int) -> Json:
    text = with_separator(output.shown, index)
    annotations = [
        {
            "type": "container_file_citation",
            "container_id": file.work_id,
            "file_id": file.file_id,
            "filename": file.name,
            "start_index": len(text),
            "end_index": len(text),
        }
        for file in output.files
    ]
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def with_separator(text: str, index: int) -> str:
    """The beginning of an output's text, with the blank line that separates outputs."""
    return f"{BETWEEN}{text}" if text and index else text


# --- the stream -----------------------------------------------------------------------------------
def event(kind: str, **fields: Any) -> Json:
    """An event of a stream."""
    return {"type": f"response.{kind}", **fields}


def opening(moment: Moment, echo: Echo) -> list[Json]:
    """How each stream begins."""
    fields = empty_response(moment, echo)
    return [event(kind, response=fields) for kind in ("created", "in_progress")]


def item_begun(source: str, index: int) -> list[Json]:
    """The events that open an output."""
    opened = {**_item_head(source), "status": "in_progress", "content": []}
    empty = _part(Output(source, "", "", ()), index)
    return [
        event("output_item.added", output_index=index, item=opened),
        event("content_part.added", **_place(source, index), part=empty),
    ]


def text_delta(source: str, index: int, piece: str) -> Json:
    """The event that has a piece of its text."""
    return event("output_text.delta", **_place(source, index), delta=piece, logprobs=[])


def text_deltas(output: Output, index: int) -> list[Json]:
    """Its whole text in pieces, which are the same whenever they are asked for."""
    texts = list(pieces(output.shown))
    texts[:1] = [with_separator(piece, index) for piece in texts[:1]]
    return [text_delta(output.id, index, piece) for piece in texts]


def item_ended(output: Output, index: int, status: str = "completed") -> list[Json]:
    """The events that close an output, behind its text."""
    where, part = _place(output.id, index), _part(output, index)
    ended = {**item(output, index), "status": status}
    return [
        *(
            event(
                "output_text.annotation.added", **where, annotation_index=n, annotation=annotation
            )
            for n, annotation in enumerate(part["annotations"])
        ),
        event("output_text.done", **where, text=part["text"], logprobs=[]),
        event("content_part.done", **where, part=part),
        event("output_item.done", output_index=index, item=ended),
    ]


def _place(source: str, index: int) -> Json:
    return {"item_id": item_id_of(source), "output_index": index, "content_index": 0}


def closing(response: Json) -> Json:
    """The event that ends a stream: of its status, or ``response.in_progress`` for one that is
    still at work when its call has been held long enough.

    OpenAI's API has no event for a cancelled response. Its clients know three that end a stream;
    ``response.failed`` is the one of them that no client takes for an answer. The response in it
    is ``cancelled`` and its error says so.
    """
    status = response["status"]
    return event("failed" if status == "cancelled" else status, response=response)


@dataclass(slots=True)
class _Begun:
    """An output whose text is sent while it is written. ``known_from``: where the part begins of
    what was sent that is known here; the client of a stream that is continued may have more."""

    source: str
    attempt: int
    known_from: int
    pieces: int = 0
    end: int = 0
    text: str = ""


class ResponseStream:
    """The events behind number ``after``, moment by moment.

    The numbers follow from the outputs alone: each output has the events that open it, one for each
    piece of its text (`doors.writing.piece_end`) and those that close it. So text that is sent
    while it is written has the numbers that it has later, and a stream that was cut off continues
    with them on any node.

    Only the text of the output that comes next for certain is sent while it is written; of several
    jobs at once that is the last one. When the agent takes a text back, or something else comes in
    its place, no further piece of it is sent, and the events that close the output have what is
    true.
    """

    def __init__(self, links: Links, echo: Echo, after: int) -> None:
        self._links = links
        self._echo = echo
        self._after = after
        self._texts = Texts()
        self._number = 0
        self._shown = 0
        self._begun: _Begun | None = None
        self.headers: dict[str, str] = {}

    def events(self, moment: Moment) -> Iterator[Json]:
        """What is new in a moment."""
        for piece in moment.texts:
            self._texts.add(read(piece))
        if self._number == 0:
            yield from self._number_events(opening(moment, self._echo))
        if not moment.texts:
            for output in outputs_of(moment.snapshot, self._links)[self._shown :]:
                yield from self._output(output)
        is_json = moment.snapshot.message.response_schema_json is not None
        source = None if is_json else next_source(moment.snapshot)
        text = self._texts.of(source) if source is not None else None
        if source is not None and text is not None:
            yield from self._text_events(source, text)

    def frames(self, moment: Moment) -> Iterator[str]:
        """See `doors.openai.streams.Frames`."""
        return map(_frame, self.events(moment))

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream, with the response as it is. One that has not ended gets no number
        of its own: a later event will have it."""
        fields = response(moment, self._links, self._echo)
        is_ended = fields["status"] in TERMINAL
        if is_ended and self._begun is not None:
            item, self._begun = self._begun, None
            output = Output(item.source, "", item.text, ())  # its text was begun and never came
            left = item_ended(output, self._shown, "incomplete")
            yield from map(_frame, self._number_events(left))
        number = self._number if is_ended else max(self._number - 1, 0)
        yield _frame({**closing(fields), "sequence_number": number})

    def refusal_frame(self, refusal: Refusal) -> str:
        """See `doors.openai.streams.Frames`."""
        error = {"type": "error", "code": code_of(refusal), "message": refusal.message}
        return _frame({**error, "param": None, "sequence_number": 0})

    def _output(self, output: Output) -> Iterator[Json]:
        item, self._begun = self._begun, None
        if item is None:
            events = item_begun(output.id, self._shown)
            deltas = text_deltas(output, self._shown)
            yield from self._number_events([*events, *deltas])
        else:
            output = replace(output, id=item.source)  # as the item was opened
            deltas = text_deltas(output, self._shown)
            sent_text = output.shown[: item.end]
            is_same = len(sent_text) == item.end and sent_text[item.known_from :] == item.text
            if is_same:
                yield from self._number_events(deltas[item.pieces :])
            else:
                self._number = max(self._number, self._number - item.pieces + len(deltas))
        yield from self._number_events(item_ended(output, self._shown))
        self._shown += 1

    def _text_events(self, source: str, text: Text) -> Iterator[Json]:
        """The pieces that are complete; the one that the text ends in waits for its rest."""
        item = self._begun
        if item is None:
            if text.end < piece_end(0):
                return
            item = self._begun = _Begun(source, text.attempt, text.start)
            yield from self._number_events(item_begun(source, self._shown))
        if (item.source, item.attempt) != (source, text.attempt):
            return
        while (end := piece_end(item.end)) <= text.end:
            if self._number > self._after and item.end < text.start:
                return  # the client lacks what nobody here has seen; it comes with the output
            piece = text.between(item.end, end)
            text_shown = piece if item.end else with_separator(piece, self._shown)
            yield from self._number_events([text_delta(source, self._shown, text_shown)])
            item.pieces, item.end, item.text = item.pieces + 1, end, item.text + piece

    def _number_events(self, events: Iterable[Json]) -> Iterator[Json]:
        for event in events:
            number, self._number = self._number, self._number + 1
            if number > self._after:
                yield {**event, "sequence_number": number}


def _frame(event: Json) -> str:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n"
