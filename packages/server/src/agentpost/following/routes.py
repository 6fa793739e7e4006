"""The event log of a message (spec: listMessageEvents; design: Additions)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission
from agentpost.accounts.scope_rules import Scope
from agentpost.api.header_docs import LAST_EVENT_ID
from agentpost.api.operation import (
    STREAMED,
    Api,
    Operation,
    Success,
    Text,
    respond,
    watch_hang_up,
)
from agentpost.api.query import int_param, text_param
from agentpost.caller import Caller
from agentpost.contract.shape import dumps, loads
from agentpost.domain.errors import ErrorCode
from agentpost.following import stream_routes
from agentpost.following.long_polls import Log, Page
from agentpost.following.shapes import EntryShape, EventListShape
from agentpost.http import event_stream
from agentpost.messages.routes import WAIT


@Operation(
    id="listMessageEvents",
    route="GET /v1/messages/{message_id}/events",
    scope=Scope.READ,
    summary="Read a message's event log, or wait for its next entries",
    answer=EventListShape,
    errors=(ErrorCode.BAD_CURSOR, ErrorCode.POLL_IN_PROGRESS),
    queries=(WAIT,),
    texts=(Text("cursor", "Where to continue: the `cursor` of the last answer."),),
)
async def list_events(api: Api, request: Request, caller: Caller, message_id: str) -> Response:
    """Everything that happened, oldest first: replies, progress, results, changes of state.
    Continue with the `cursor` of the last answer until `done` is true. When there is nothing new,
    the call is held for `wait` seconds, and for one at least. One call at a time may wait for the
    log of a message. Entries are kept for seven days; a cursor that is older starts at what is
    still there and says `cursor_expired`."""
    cursor, wait = text_param(request, "cursor"), int_param(request, WAIT)
    await admission.wait(api.ctx, caller)  # every read of a log is a wait (design: Rate limits)
    log = Log(api.ctx, caller, message_id)
    page = await log.events(cursor, wait, partial(watch_hang_up, request))
    shape = EventListShape(
        data=[EntryShape.of(entry, api.ctx.links) for entry in page.entries],
        has_more=page.has_more,
        done=page.done,
        cursor=page.cursor,
        cursor_expired=True if page.cursor_expired else UNSET,
    )
    return respond(shape)


@Operation(
    id="streamMessage",
    route="GET /v1/messages/{message_id}/stream",
    summary="Follow a message's event log as an event stream",
    scope=Scope.READ,
    answer=EntryShape,
    event=EntryShape,
    successes=(Success(200, "Events, until the message is done.", media=STREAMED),),
    errors=(ErrorCode.BAD_CURSOR,),
    texts=(Text("cursor", "Where to continue: a `cursor` of this message's log."),),
    headers=(LAST_EVENT_ID,),
)
async def stream(api: Api, request: Request, caller: Caller, message_id: str) -> Response:
    """Server-sent events: each entry of the log as it is written, with its type as `event`, its
    JSON as `data` and the cursor behind it as `id`. `event: end` follows the last entry; a stream
    that ends without it is continued with `Last-Event-ID`, which browsers send by themselves.
    Comments keep the connection alive. Several streams may follow one message. Opening one counts
    as a long-poll. When the cursor is older than seven days, `event: cursor_expired` comes first.
    `event: delta` has a piece of `text` that the agent is writing, from `offset` on, for the turn
    or for `job_id`; it has no `id`, is not kept and may get lost. `event: reset` says to drop such
    pieces. The whole text comes with its entry."""
    cursor = stream_routes.cursor_of(request)
    await stream_routes.admit(api, caller)
    log = Log(api.ctx, caller, message_id)
    seq, is_expired, has_missed = await log.begin_stream(cursor)
    pages = log.follow(seq, partial(watch_hang_up, request))
    # The place is sent at once: who comes back before the first entry says that it was here.
    begins = event_stream.place(log.cursor_at(seq))
    begins += stream_routes.CURSOR_EXPIRED if is_expired else b""
    begins += stream_routes.RESET if has_missed else b""
    return stream_routes.respond(api, caller, message_id, begins, _pieces(log, pages))


async def _pieces(log: Log, pages: AsyncGenerator[Page]) -> AsyncGenerator[bytes]:
    async with aclosing(pages):
        async for page in pages:
            for entry in page.entries:
                data = EntryShape.of(entry, log.ctx.links).json()
                yield event_stream.event(data, name=entry.type, id_=log.cursor_at(entry.seq))
            for piece in page.deltas:
                yield _delta(piece)
            if page.done:
                yield stream_routes.END
            elif not page.entries and not page.deltas:
                yield event_stream.KEEP_ALIVE


def _delta(piece: str) -> bytes:
    """It has no ``id``: nobody can continue from what is not recorded."""
    delta = loads(piece)
    name = "reset" if delta.pop("reset", False) else "delta"
    return event_stream.event(dumps(delta).encode(), name=name)


OPERATIONS = (list_events, stream)
