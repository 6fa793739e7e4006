"""The call of the Chat Completions API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.accounts import admission
from agentpost.api.operation import Api, Handler
from agentpost.caller import Caller
from agentpost.doors.openai import sending, streams
from agentpost.doors.openai.chat import params, shapes
from agentpost.doors.openai.chat.shapes import Echo
from agentpost.doors.openai.chat.stream import CompletionStream
from agentpost.doors.openai.sending import CallInput
from agentpost.doors.openai.states import error_of
from agentpost.http.headers import header
from agentpost.messages import lists
from agentpost.messages.filter_rules import ListFilter

CONVERSATION: Final = "X-Agentpost-Conversation"
"""The header that names the conversation, of the request and of the response."""
FAILED: Final = 422
"""The status for work that failed: clients repeat a 409, a 429 and a 5xx by themselves, which would
do the work once more."""


def handlers() -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`."""
    return {("POST", "/openai/v1/chat/completions"): _create}


async def _create(api: Api, request: Request, caller: Caller) -> Response:
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
    of_it = ListFilter(conversation=call_input.conversation)
    page = await lists.list_page(api.ctx, caller, of_it, before=None, limit=1)
    return bool(page.messages)
