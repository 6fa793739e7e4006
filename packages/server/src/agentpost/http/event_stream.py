"""A response that is an event stream (WHATWG HTML, "Server-sent events").

It is sent by the task of its request, piece by piece: the next piece is made once the reader has
taken the one before. A reader that takes nothing for a while is disconnected, so nothing piles up
for it.
"""

import asyncio
from collections.abc import AsyncGenerator

import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agentpost.domain.errors import reason_of
from agentpost.http.request_state import state_of

log = structlog.get_logger(__name__)

MEDIA_TYPE = "text/event-stream"
SLOW_SECONDS = 15.0
"""A reader has so long to take what was sent before; the socket's buffers come on top of it."""
KEEP_ALIVE = b": \n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def event(data: bytes, *, name: str = "", id_: str = "") -> bytes:
    """One event.

    Args:
        data: one line; JSON as msgspec writes it is one.
        name: what the client's listener is called by.
        id_: what a client sends as ``Last-Event-ID`` when it comes back.
    """
    head = f"id: {id_}\n" if id_ else ""
    head += f"event: {name}\n" if name else ""
    return b"%sdata: %s\n\n" % (head.encode(), data)


def place(id_: str) -> bytes:
    """Tells the client its ``Last-Event-ID`` without an event."""
    return b"id: %s\n\n" % id_.encode()


def retry(milliseconds: int) -> bytes:
    """Tells the client how long to wait before it comes back."""
    return b"retry: %d\n\n" % milliseconds


class EventStream(Response):
    """Sends what ``pieces`` makes, and closes it whatever happens. The response has begun by then:
    an error in ``pieces`` is logged and ends it, and the client comes back."""

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        # Not Response.__init__, which gives it a body and its length.
        self.status_code = 200
        self.background = None
        self.media_type = MEDIA_TYPE
        self.init_headers(HEADERS)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        state = state_of(scope)
        headers = {"status": self.status_code, "headers": self.raw_headers}
        try:
            await send({"type": "http.response.start", **headers})
            if scope["method"] != "HEAD":
                async for piece in self._pieces:
                    await _send_within(send, _body(piece, more=True))
            await send(_body(b"", more=False))
        except _TooSlow:
            log.info("stream_reader_too_slow", request_id=state.id, seconds=SLOW_SECONDS)
            if state.peer is not None:
                state.peer.abort()
        except Exception as error:
            log.error("stream_failed", request_id=state.id, reason=reason_of(error))
            await send(_body(b"", more=False))
        finally:
            await self._pieces.aclose()
            state.end()


class _TooSlow(Exception):
    """The reader does not take what is sent."""


async def _send_within(send: Send, message: Message) -> None:
    try:
        async with asyncio.timeout(SLOW_SECONDS):
            await send(message)
    except TimeoutError as error:
        raise _TooSlow from error


def _body(piece: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": more}
