"""The request log (design: Reading the request log)."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission
from agentpost.accounts.scope_rules import Scope
from agentpost.api.operation import Api, Operation, Query, Text, respond, watch_hang_up
from agentpost.api.query import (
    TIME,
    checked_param,
    choice_param,
    id_param,
    int_param,
    place_param,
    text_param,
    time_param,
)
from agentpost.caller import Caller
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem
from agentpost.messages.routes import WAIT
from agentpost.requests import lists
from agentpost.requests.filter_rules import METHODS, STATUS_PATTERN, RequestFilter, status_range
from agentpost.requests.shapes import LoggedRequestDetailsShape, LoggedRequestListShape

LIMIT = Query(
    "limit", "How many to list.", 1, limits.REQUESTS_PAGE_MAX, limits.REQUESTS_PAGE_DEFAULT
)
BEFORE = Text(
    "before", "Only requests older than the one with this `id`.", pattern=ids.pattern(ids.REQUEST)
)


@Operation(
    id="listRequests",
    route="GET /v1/requests",
    scope=Scope.READ,
    summary="Read the request log, or wait for the next requests",
    answer=LoggedRequestListShape,
    errors=(ErrorCode.BAD_CURSOR,),
    queries=(LIMIT, WAIT),
    texts=(
        BEFORE,
        Text("cursor", "Only requests that ended since the answer with this `cursor`."),
        Text("key", "Only requests with the key of this id."),
        Text("method", "Only requests with this method.", METHODS),
        Text(
            "status",
            "Only this status, as `404`; `4xx`: its kind; `failed`: 400 and above.",
            pattern=STATUS_PATTERN,
        ),
        Text("path", "Only requests with this in their path or query, in any case."),
        Text("error", "Only requests refused with this error code."),
        Text("created_after", "Only requests that came at this time or later.", format=TIME),
        Text("created_before", "Only requests that came before this time.", format=TIME),
    ),
)
async def list_requests(api: Api, request: Request, caller: Caller) -> Response:
    """The requests to the API and their outcomes, newest first, without the bodies. While
    `has_more`, continue with `before`: the last one's `id`. With the `cursor` of an answer the
    requests come that ended since, in this order; when there are none, the call is held for `wait`
    seconds, and for one at least, and counts as a long-poll. A request is there about a second
    after it ended; one that took over three minutes is only in the list, and so are reads of the
    log. A key reads its own requests, with the scope `read_all` also those of the account's other
    keys."""
    request_filter, limit = _filter(request), int_param(request, LIMIT)
    before = await place_param(api, request, caller, BEFORE)
    created_before = time_param(request, "created_before")
    cursor, wait = text_param(request, "cursor"), int_param(request, WAIT)
    if cursor is None:
        ends = [before] if before is not None else []
        if created_before is not None:
            ends.append(ids.at(ids.REQUEST, created_before))
        page = await lists.list_requests(
            api.ctx, caller, request_filter, before=min(ends, default=None), limit=limit
        )
    else:
        for name in ("before", "created_after", "created_before"):
            if text_param(request, name) is not None:
                raise InvalidRequest(Problem(name, "is not possible beside `cursor`"))
        await admission.wait(api.ctx, caller)
        page = await lists.list_ended(
            api.ctx,
            caller,
            request_filter,
            after=lists.read_cursor(api.ctx, caller, cursor),
            limit=limit,
            wait_seconds=wait,
            hung_up=partial(watch_hang_up, request),
        )
    return respond(page)


@Operation(
    id="getRequest",
    route="GET /v1/requests/{request_id}",
    scope=Scope.READ,
    summary="Read a request with its bodies",
    answer=LoggedRequestDetailsShape,
)
async def get(api: Api, _: Request, caller: Caller, request_id: str) -> Response:
    """Bodies are kept without secrets, long ones in part. `request_id` is what the answer had as
    `Request-Id`; a request is there about a second after it ended."""
    return respond(await lists.get(api.ctx, caller, request_id))


def _filter(request: Request) -> RequestFilter:
    method, status = choice_param(request, "method", METHODS), checked_param(request, "status")
    statuses = status_range(status) if status is not None else None
    if status is not None and statuses is None:
        problem = "must be a status such as 404, 4xx for all of its kind, or failed"
        raise InvalidRequest(Problem("status", problem))
    since = time_param(request, "created_after")
    return RequestFilter(
        key_id=id_param(request, "key"),
        method=method,
        status=statuses,
        path=id_param(request, "path"),
        error=id_param(request, "error"),
        since=None if since is None else ids.at(ids.REQUEST, since),
    )


OPERATIONS = (list_requests, get)
