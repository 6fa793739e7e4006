"""The event log of a message (spec: listMessageEvents)."""

from __future__ import annotations

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.messages import WAIT
from agentpost.api.operation import Api, Operation, Text, respond, watch_hang_up
from agentpost.api.query import int_param, text_param
from agentpost.contract.events import EntryShape, EventListShape
from agentpost.domain.errors import ErrorCode
from agentpost.services import admission, long_poll
from agentpost.services.messages import Caller


async def list_events(api: Api, request: Request, caller: Caller) -> Response:
    """The next page of the log; an empty one is held for at least a second."""
    cursor, wait = text_param(request, "cursor"), int_param(request, WAIT)
    await admission.wait(api.ctx, caller)  # every read of a log is a wait (design: Rate limits)
    page = await long_poll.events(
        api.ctx,
        caller,
        request.path_params["message_id"],
        cursor,
        wait,
        watch_hang_up(request),
    )
    shape = EventListShape(
        data=[EntryShape.of(entry, api.ctx.links) for entry in page.entries],
        has_more=page.has_more,
        done=page.done,
        cursor=page.cursor,
        cursor_expired=True if page.cursor_expired else UNSET,
    )
    return respond(shape)


OPERATIONS = (
    Operation(
        id="listMessageEvents",
        method="GET",
        path="/v1/messages/{message_id}/events",
        summary="Read a message's event log, or wait for its next entries",
        description=(
            "Everything that happened, oldest first: replies, progress, results, changes of state."
            " Continue with the `cursor` of the last answer until `done` is true. When there is"
            " nothing new, the call is held for `wait` seconds, and for one at least. One call at a"
            " time may wait for the log of a message. Entries are kept for seven days; a cursor"
            " that is older starts at what is still there and says `cursor_expired`."
        ),
        handler=list_events,
        answer=EventListShape,
        errors=(
            ErrorCode.INVALID_REQUEST,
            ErrorCode.BAD_CURSOR,
            ErrorCode.NOT_FOUND,
            ErrorCode.POLL_IN_PROGRESS,
        ),
        queries=(WAIT,),
        texts=(Text("cursor", "Where to continue: the `cursor` of the last answer."),),
    ),
)
