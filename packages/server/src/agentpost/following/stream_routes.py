"""Event streams: a message's log, and the events of an account, as they come."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission
from agentpost.api.header_docs import LAST_EVENT_ID
from agentpost.api.operation import Api
from agentpost.api.query import text_param
from agentpost.caller import Caller
from agentpost.domain.errors import InvalidRequest, KeyEnded, Problem, Refusal
from agentpost.domain.limits import STREAM_RETRY_MILLISECONDS
from agentpost.following.open_streams import StreamPlace
from agentpost.http import event_stream
from agentpost.http.event_stream import EventStream
from agentpost.http.headers import headers

CURSOR_EXPIRED = event_stream.event(b"{}", name="cursor_expired")
"""Comes first when the cursor was too old: entries may be missing."""
RESET = event_stream.event(b"{}", name="reset")
"""Comes when a stream is continued: pieces of text that were told before are to be dropped."""
_PIECES_AT_ONCE = 16
"""Of a stream, before others have their turn: each takes a twentieth of a millisecond."""
END = event_stream.event(b"{}", name="end")
"""Comes last when there will be nothing more; a client that sees it need not come back."""


def is_wanted(request: Request) -> bool:
    """Whether the client asks for a stream, by its ``Accept`` header."""
    accepted = ",".join(headers(request, b"accept"))
    kinds = (kind.partition(";")[0].strip().lower() for kind in accepted.split(","))
    return event_stream.MEDIA_TYPE in kinds


def cursor_of(request: Request) -> str | None:
    """Where a stream continues: ``Last-Event-ID``, else the parameter ``cursor``.

    A browser that comes back sends the header with the address it was given first, so the header is
    the newer one. Raises ``invalid_request``.
    """
    values = headers(request, LAST_EVENT_ID.name.lower().encode())
    if len(values) > 1:
        raise InvalidRequest(Problem(LAST_EVENT_ID.name, "the header is given twice"))
    return (values[0] if values else "") or text_param(request, "cursor")


async def admit(api: Api, caller: Caller) -> None:
    """Whether a stream may open; raises ``rate_limited``. `respond` takes its place."""
    await admission.wait(api.ctx, caller)
    api.ctx.streams.check(caller.account_id, api.ctx.settings.streams_max)


def respond(
    api: Api, caller: Caller, topic: str, begins: bytes, pieces: AsyncGenerator[bytes]
) -> Response:
    """The stream; it ends with its key. Raises ``rate_limited`` when others were faster.

    Args:
        topic: whose events they are, an id.
        begins: what is sent at once.
        pieces: what follows; each is sent before the next one is made.
    """
    place = api.ctx.streams.take(caller.account_id, api.ctx.settings.streams_max, topic)
    return EventStream(_until_the_key_ends(api, place, begins, pieces))


async def _until_the_key_ends(
    api: Api, place: StreamPlace, begins: bytes, pieces: AsyncGenerator[bytes]
) -> AsyncGenerator[bytes]:
    with place:
        async with aclosing(pieces):
            yield event_stream.retry(STREAM_RETRY_MILLISECONDS) + begins
            try:
                n = 0
                async for piece in pieces:
                    yield piece
                    n += 1
                    if n % _PIECES_AT_ONCE == 0:
                        await asyncio.sleep(0)  # writing does not wait while the client reads
            except KeyEnded:
                api.keys.forget()  # it was live a moment ago: who comes back is refused
            except Refusal:
                return  # the message is gone
