"""The calls of the Responses API."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import admission
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.domain.errors import InvalidRequest, Problem, not_found
from agentpost.doors.openai import sending, streams
from agentpost.doors.openai.items import (
    item_id_of,
    message_id_of,
    response_id_of,
    sources_of,
)
from agentpost.doors.openai.responses import params, shapes
from agentpost.doors.openai.responses.shapes import Echo
from agentpost.doors.openai.responses.stream import ResponseStream
from agentpost.doors.outputs import Output, outputs_of, shown_texts
from agentpost.following import followers
from agentpost.messages import lists


async def create(api: Api, request: Request, caller: Caller) -> Response:
    """POST /responses: send it, then answer, hold or stream as it asks."""
    call_input = await sending.read_call(api, request, caller, params.creation)
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
    return JSONResponse(shapes.response(moment, api.ctx.links, echo))


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
        return JSONResponse(shapes.response(moment, api.ctx.links))
    after = request.query_params.get("starting_after", "-1")
    if not (after.removeprefix("-").isdigit() and after.isascii() and len(after) < 10):
        raise InvalidRequest(Problem("starting_after", "must be a whole number"))
    await admission.held_call(api.ctx, caller)
    stream = ResponseStream(api.ctx.links, Echo(), int(after))
    return await streams.response(stream, streams.follow(api, caller, message_id, stream))


async def cancel(api: Api, request: Request, caller: Caller) -> Response:
    message_id = _message_id(request)
    await lists.cancel(api.ctx, caller, message_id)
    moment = await followers.look(api.ctx, caller, message_id)
    return JSONResponse(shapes.response(moment, api.ctx.links))


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
