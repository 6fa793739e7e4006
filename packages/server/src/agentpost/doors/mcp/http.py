"""`/mcp`: streamable HTTP without sessions. Each request stands for itself, so any node answers it
and nothing is kept between two of them."""

import re
from typing import Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.domain.limits import RPC_CALL_BYTES_MAX
from agentpost.doors import rpc
from agentpost.doors.mcp.local import LocalBackend
from agentpost.doors.mcp.server import build
from agentpost.http.bodies import LARGE_BYTES

_SDK_BYTES_MAX: Final = 2 * LARGE_BYTES + RPC_CALL_BYTES_MAX
"""What the SDK takes: more than comes to it, since its refusals have another form."""
_FILES_AT: Final = re.compile(r"params\.arguments\.files\.[0-9]+\.base64")


async def post(api: Api, request: Request, caller: Caller) -> Response:
    call = await rpc.read(api, request, caller, _FILES_AT)
    backend = LocalBackend(api, request, caller, call.contents)
    return _Answer(backend, call.body)


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
            build(self._backend), stateless=True, max_request_body_size=_SDK_BYTES_MAX
        )
        read = False

        async def receive_body() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": self._given, "more_body": False}

        async def send_part(message: Message) -> None:
            if message["type"] == "http.response.start":
                more: list[Any] = [*message.get("headers", []), *self.raw_headers]
                message = {**message, "headers": more}
            await send(message)

        # The length that was announced has the contents of files, which the SDK does not get.
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        async with manager.run():
            await manager.handle_request({**scope, "headers": headers}, receive_body, send_part)
