"""The calls of the Responses API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from agentpost.api.operation import Api, Handler, watch_hang_up
from agentpost.domain.errors import InvalidRequest, Problem, Refusal, not_found
from agentpost.domain.times import seconds
from agentpost.doors import drafts
from agentpost.doors.openai import sending
from agentpost.doors.openai.errors import code_of
from agentpost.doors.openai.items import (
    item_id_of,
    message_id_of,
    response_id_of,
    sources_of,
)
from agentpost.doors.openai.models import model_names
from agentpost.doors.openai.responses import params, shapes
from agentpost.doors.openai.responses.params import Creation
from agentpost.doors.openai.responses.shapes import Echo, Json
from agentpost.doors.openai.responses.stream import ResponseStream
from agentpost.doors.openai.sending import Prepared
from agentpost.doors.openai.states import TERMINAL
from agentpost.doors.outputs import Output, outputs_of
from agentpost.services import admission, following, message_lists
from agentpost.services.following import Moment
from agentpost.services.long_poll import HungUp
from agentpost.services.messages import Caller
from agentpost.wakeups.base import Wait

_SSE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def handlers() -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`."""
    one = "/openai/v1/responses/{response_id}"
    return {
        ("POST", "/openai/v1/responses"): _create,
        ("GET", one): _retrieve,
        ("DELETE", one): _delete,
        ("POST", f"{one}/cancel"): _cancel,
        ("GET", f"{one}/input_items"): _input_items,
    }


async def _create(api: Api, request: Request, caller: Caller) -> Response:
    """POST /responses: send it, then answer, hold or stream as it asks."""
    call = await sending.read_call(api, request, caller)
    created = params.creation(call.body, model_names(api))
    if created.stream or not created.background:
        _ensure_room(api, caller)
        await admission.wait(api.ctx, caller)
    await _resolve(api, caller, created)
    call_input = created.call_input
    prepared = await sending.prepare(api, caller, call, call_input)
    previous = response_id_of(call_input.message_id) if call_input.message_id else None
    echo = Echo(created.background, previous, tuple(call_input.ignored))
    if created.stream:
        events = _sent(api, caller, prepared, echo)
        return _stream(events, await anext(events))
    message = await prepared.send(api, caller)
    if created.background:
        moment = await following.look(api.ctx, caller, message.id)
    else:
        with api.ctx.streams.count(caller.account_id):
            moment = await _ended(api, caller, message.id, watch_hang_up(request))
    return _respond(shapes.response(moment, api.ctx.links, echo))


async def _resolve(api: Api, caller: Caller, created: Creation) -> None:
    """Put the texts of the output items that are only named in their places."""
    for reference in created.references:
        output = await _output(api, caller, reference.item_id)
        reference.answer.texts[reference.place] = output.shown


async def _output(api: Api, caller: Caller, item_id: str) -> Output:
    """The output that an item shows; raises ``not_found``."""
    sources = sources_of(item_id)
    if sources is None:
        raise not_found("item")
    moment = await following.look_at_maker(api.ctx, caller, sources)
    for output in outputs_of(moment.snapshot, api.ctx.links):
        if item_id_of(output.id) == item_id:
            return output
    raise not_found("item")


async def _retrieve(api: Api, request: Request, caller: Caller) -> Response:
    """GET /responses/{id}; with ``stream=true`` from behind ``starting_after``."""
    message_id = _message_id(request)
    moment = await following.look(api.ctx, caller, message_id)
    if request.query_params.get("stream") != "true":
        return _respond(shapes.response(moment, api.ctx.links))
    after = request.query_params.get("starting_after", "-1")
    if not (after.removeprefix("-").isdigit() and after.isascii() and len(after) < 10):
        raise InvalidRequest(Problem("starting_after", "must be a whole number"))
    _ensure_room(api, caller)
    await admission.wait(api.ctx, caller)
    return _stream(_events(api, caller, message_id, Echo(), int(after)))


def _stream(events: AsyncGenerator[str, None], first: str = "") -> Response:
    sent = _until_refused(events, first)
    return StreamingResponse(sent, headers=_SSE, media_type="text/event-stream")


async def _until_refused(events: AsyncGenerator[str, None], first: str) -> AsyncIterator[str]:
    """The events; a refusal that comes in between, such as a key that ends, is the last of them."""
    async with aclosing(events):
        try:
            if first:
                yield first
            async for event in events:
                yield event
        except Refusal as refusal:
            error = {"type": "error", "code": code_of(refusal), "message": refusal.message}
            yield _event({**error, "param": None, "sequence_number": 0})


async def _sent(
    api: Api, caller: Caller, prepared: Prepared, echo: Echo
) -> AsyncGenerator[str, None]:
    """Send a message, then all of its events: it listens before there is anything to miss. What
    refuses the message is raised before the first event."""
    message_id = drafts.fresh_id(api.ctx)
    with api.ctx.wakeups.listen(message_id, texts=True) as wait:
        message = await prepared.send(api, caller, message_id)
        place = wait if message.id == message_id else None
        async with aclosing(_events(api, caller, message.id, echo, -1, place)) as events:
            async for event in events:
                yield event


async def _events(
    api: Api, caller: Caller, message_id: str, echo: Echo, after: int, place: Wait | None = None
) -> AsyncGenerator[str, None]:
    """The events behind number ``after``, until the end, or until it was held long enough."""
    ctx = api.ctx
    until = ctx.clock.passed() + seconds(ctx.settings.door_wait_seconds)
    stream = ResponseStream(ctx.links, echo, after)
    with ctx.streams.count(caller.account_id):
        followed = following.follow(ctx, caller, message_id, texts=True, place=place, until=until)
        async with aclosing(followed) as moments:
            async for moment in moments:
                for event in stream.events(moment):
                    yield _event(event)
                if not moment.texts:
                    now = shapes.response(moment, ctx.links, echo)
                    yield ": \n\n"
                if now["status"] in TERMINAL or moment.waits_for_credits:
                    break
    for event in stream.last(now, ended=now["status"] in TERMINAL):
        yield _event(event)


def _ensure_room(api: Api, caller: Caller) -> None:
    """Raise ``rate_limited`` when the account has as many calls open that wait as it may."""
    api.ctx.streams.check(caller.account_id, api.ctx.settings.streams_max)


async def _ended(api: Api, caller: Caller, message_id: str, hung_up: HungUp) -> Moment:
    """The message once it is final or waits for credits, or when its call was held long enough."""
    ctx = api.ctx
    until = ctx.clock.passed() + seconds(ctx.settings.door_wait_seconds)
    followed = following.follow(ctx, caller, message_id, hung_up=hung_up, until=until)
    async with aclosing(followed) as moments:
        async for moment in moments:
            if moment.waits_for_credits:
                break
    return moment


async def _cancel(api: Api, request: Request, caller: Caller) -> Response:
    message_id = _message_id(request)
    await message_lists.cancel(api.ctx, caller, message_id)
    moment = await following.look(api.ctx, caller, message_id)
    return _respond(shapes.response(moment, api.ctx.links))


async def _delete(api: Api, request: Request, caller: Caller) -> Response:
    """The message goes; the works that it made, and their files, stay."""
    message_id = _message_id(request)
    await message_lists.delete(api.ctx, caller, message_id)
    gone = {"id": response_id_of(message_id), "object": "response", "deleted": True}
    return _respond(gone)


async def _input_items(api: Api, request: Request, caller: Caller) -> Response:
    """The text that was sent; files are not given back."""
    message_id = _message_id(request)
    message = (await following.look(api.ctx, caller, message_id)).snapshot.message
    item = {
        "id": f"{message_id}_input",
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_text", "text": message.text}],
    }
    return _respond(
        {
            "object": "list",
            "data": [item],
            "first_id": item["id"],
            "last_id": item["id"],
            "has_more": False,
        }
    )


def _message_id(request: Request) -> str:
    message_id = message_id_of(request.path_params["response_id"])
    if message_id is None:
        raise not_found("response")
    return message_id


def _respond(value: Json) -> Response:
    return JSONResponse(value)


def _event(event: Json) -> str:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n"
