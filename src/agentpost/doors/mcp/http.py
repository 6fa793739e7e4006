"""`/mcp`: streamable HTTP without sessions. Each request stands for itself, so any node answers it
and nothing is kept between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agentpost.api.operation import Api, Handler
from agentpost.domain.limits import DOOR_BODY_BYTES_MAX
from agentpost.doors import rpc
from agentpost.doors.mcp.local import LocalBackend
from agentpost.doors.mcp.server import build
from agentpost.http.request_state import state_of
from agentpost.services.messages import Caller


def handlers(api: Api) -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`."""

    async def post(api: Api, request: Request, caller: Caller) -> Response:
        body, _ = await rpc.read(api, request, caller)
        return _Answer(LocalBackend(api.ctx, caller, state_of(request.scope).id), body)

    return {("POST", "/mcp"): post}


class _Answer(Response):
    """The SDK's answer to one request, with the headers that ours have. It has no ``body``: it is
    streamed."""

    def __init__(self, backend: LocalBackend, body: bytes) -> None:
        self.status_code = 200
        self.raw_headers = []
        self.background = None
        self._backend = backend
        self._given = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = StreamableHTTPSessionManager(
            build(self._backend), stateless=True, max_request_body_size=DOOR_BODY_BYTES_MAX
        )
        read = False

        async def given() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": self._given, "more_body": False}

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                more: list[Any] = [*message.get("headers", []), *self.raw_headers]
                message = {**message, "headers": more}
            await send(message)

        async with manager.run():
            await manager.handle_request(scope, given, sent)
