"""`/a2a`, and the agent card."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from agentpost.api.operation import Api, Handler, watch_hang_up
from agentpost.doors import bodies
from agentpost.doors.a2a.card import PATH, card
from agentpost.doors.a2a.handler import CALLER, HUNG_UP, REQUEST_ID, TaskHandler
from agentpost.http.pipeline import Handler as OpenHandler
from agentpost.http.published import Published
from agentpost.http.request_state import state_of
from agentpost.services.messages import Caller

CARD_PATH = "/.well-known/agent-card.json"

# They log each call that a client got wrong, with what it sent.
logging.getLogger("a2a").setLevel(logging.CRITICAL)


class _CallContext(DefaultServerCallContextBuilder):
    """The context of a call, with who calls."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        state = state_of(request.scope)
        context.state[CALLER], context.state[REQUEST_ID] = state.caller, state.id
        context.state[HUNG_UP] = request.scope[HUNG_UP]
        return context


def handlers(api: Api) -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`. Both versions of the protocol that are in use are understood."""
    dispatcher = JsonRpcDispatcher(TaskHandler(api), _CallContext(), enable_v0_3_compat=True)

    async def post(api: Api, request: Request, caller: Caller) -> Response:
        body = await bodies.read(api, request, caller)
        bodies.parsed(body)  # bounded in its values, before the SDK reads it

        async def given() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        request.scope[HUNG_UP] = watch_hang_up(request)
        return await dispatcher.handle_requests(Request(request.scope, given))

    return {("POST", PATH): post}


def public(api: Api) -> Mapping[tuple[str, str], OpenHandler]:
    """See `doors.routes.Door`."""
    ctx = api.ctx

    def made() -> bytes:
        shown = agent_card_to_dict(card(ctx.settings.public_url, ctx.agent_name))
        return json.dumps(shown, ensure_ascii=False).encode()

    return {("GET", CARD_PATH): Published(made, "application/json")}
