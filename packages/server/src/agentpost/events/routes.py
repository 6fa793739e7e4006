"""The events of an account (design: Reading an account's events)."""

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
    JSON,
    STREAMED,
    Api,
    Operation,
    Query,
    Success,
    Text,
    respond,
    watch_hang_up,
)
from agentpost.api.query import id_param, int_param, text_param
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem
from agentpost.domain.limits import EVENTS_PAGE_ENTRIES
from agentpost.events import actions as events
from agentpost.events.actions import EventFilter, EventPage
from agentpost.following import stream_routes
from agentpost.http import event_stream
from agentpost.messages.routes import WAIT
from agentpost.record.events import EventName
from agentpost.webhooks.event_shapes import AccountEventListShape, AccountEventShape

LIMIT = Query("limit", "How many to list.", 1, EVENTS_PAGE_ENTRIES, EVENTS_PAGE_ENTRIES)


@Operation(
    id="listEvents",
    route="GET /v1/events",
    summary="Read the key's events, or wait for the next ones",
    scope=Scope.READ,
    answer=AccountEventListShape,
    event=AccountEventShape,
    successes=(Success(200, "Success", media=(JSON, *STREAMED)),),
    errors=(ErrorCode.BAD_CURSOR,),
    queries=(WAIT, LIMIT),
    texts=(
        Text("cursor", "Where to continue: the `cursor` of the last answer."),
        Text("types", "Only events with one of these names, separated by commas."),
        Text("conversation", "Only events of messages of the conversation with this name."),
    ),
    headers=(LAST_EVENT_ID,),
)
async def list_events(api: Api, request: Request, caller: Caller) -> Response:
    """These are the events that webhook endpoints get, each once, with the id and the body that a
    webhook has, of the messages that the key sent; with the scope `read_all` also of those of the
    other keys and of the app. Without a `cursor` the events begin with this call: an account's
    events are kept for readers from its first call on, and until no call came for seven days.
    Continue with the `cursor` of the last answer; an older one than seven days continues with what
    is still there and says `cursor_expired`. When there is nothing new, the call is held for `wait`
    seconds, and with a `cursor` for one at least. With `Accept: text/event-stream` the events are
    streamed as they come, the cursor behind each as its `id`; such a stream has no end and is
    continued with `Last-Event-ID`. Each call counts as a long-poll. Any number of programs can
    read."""
    event_filter = _filter(request, caller)
    if stream_routes.is_wanted(request):
        return await _stream(api, request, caller, event_filter)
    cursor, wait = text_param(request, "cursor"), int_param(request, WAIT)
    limit = int_param(request, LIMIT)
    await admission.wait(api.ctx, caller)
    begins = await events.begin(api.ctx, caller, cursor)
    page = await events.page(
        api.ctx, caller, begins, event_filter, limit, wait, partial(watch_hang_up, request)
    )
    shape = AccountEventListShape(
        data=[AccountEventShape.read(event, api.ctx.links) for event in page.events],
        has_more=page.has_more,
        cursor=events.cursor_at(api.ctx, caller.account_id, page.n),
        cursor_expired=True if begins.expired else UNSET,
    )
    return respond(shape)


async def _stream(
    api: Api, request: Request, caller: Caller, event_filter: EventFilter
) -> Response:
    cursor = stream_routes.cursor_of(request)
    await stream_routes.admit(api, caller)
    begins = await events.begin(api.ctx, caller, cursor)
    pages = events.follow(api.ctx, caller, begins, event_filter, partial(watch_hang_up, request))
    # Where the stream begins is told at once: a client that comes back before the first event has
    # missed none then.
    start = event_stream.place(events.cursor_at(api.ctx, caller.account_id, begins.n))
    start += stream_routes.CURSOR_EXPIRED if begins.expired else b""
    pieces = _pieces(api, caller, pages)
    return stream_routes.respond(api, caller, caller.account_id, start, pieces)


async def _pieces(
    api: Api, caller: Caller, pages: AsyncGenerator[EventPage]
) -> AsyncGenerator[bytes]:
    async with aclosing(pages):
        async for page in pages:
            for event in page.events:
                cursor = events.cursor_at(api.ctx, caller.account_id, event.n)
                data = AccountEventShape.read(event, api.ctx.links).json()
                yield event_stream.event(data, name=event.name, id_=cursor)
            if not page.events:
                yield event_stream.KEEP_ALIVE


def _filter(request: Request, caller: Caller) -> EventFilter:
    names = None
    types = text_param(request, "types")
    if types is not None:
        type_names = {name.strip() for name in types.split(",") if name.strip()}
        if unknown := sorted(type_names - set(EventName)):
            raise InvalidRequest(Problem("types", f"there is no event {unknown[0]}"))
        names = frozenset(EventName(name) for name in type_names)
    key_id = None if caller.reads_all else caller.key_id
    return EventFilter(names, id_param(request, "conversation"), key_id)


OPERATIONS = (list_events,)
