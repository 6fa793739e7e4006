"""The pipeline of a request: middlewares around a handler, for the API and the web pages alike.

A handler makes a response of a request. A middleware calls the handler that it surrounds and has
one concern; the lists of them are in `api/app.py` and `web/routes.py`. They surround handlers and
not ASGI applications, since most need the whole response: ASGI hands it on in pieces.
"""

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, reduce

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agentpost.clock import Clock
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal, StoreUnavailable
from agentpost.domain.limits import REQUEST_BODY_READ_BYTES_MAX
from agentpost.http import request_state
from agentpost.http.request_state import state_of
from agentpost.messages import traceparent_rules
from agentpost.requests.actions import RequestLog, RequestLogEntry
from agentpost.requests.redaction import LargeBody

Handler = Callable[[Request], Awaitable[Response]]
Middleware = Callable[[Handler, Request], Awaitable[Response]]
Render = Callable[[Request, Refusal], Response]
"""Makes an error response in the form that the caller reads."""

log = structlog.get_logger(__name__)

_STORE_RETRY_SECONDS = 5
GONE_STATUS = 499
"""In the request log and the metrics: the client hung up before the response was ready."""


def surround(handler: Handler, middlewares: Sequence[Middleware]) -> Handler:
    """The handler within the middlewares, the first of them outermost."""
    return reduce(lambda inner, outer: partial(outer, inner), reversed(middlewares), handler)


async def with_state(clock: Clock, handler: Handler, request: Request) -> Response:
    """Give the request its id and state. The id is in every log line that the request causes, and
    in its response."""
    state = request_state.begin(request.scope, clock)
    structlog.contextvars.bind_contextvars(request_id=state.id)
    try:
        response = await handler(request)
    finally:
        state.end()
    response.raw_headers.append((b"request-id", state.id.encode()))
    return response


async def with_headers(headers: Mapping[str, str], handler: Handler, request: Request) -> Response:
    """Add headers to every response; a handler may have set one of them otherwise."""
    response = await handler(request)
    for name, value in headers.items():
        response.headers.setdefault(name, value)
    return response


async def with_errors(render: Render, handler: Handler, request: Request) -> Response:
    """Turn exceptions into error responses; log those that are not the caller's fault."""
    state = state_of(request.scope)
    try:
        return await handler(request)
    except ClientDisconnect:
        raise
    except Refusal as refusal:
        answer = refusal
    except Exception as fault:
        answer = report_fault(fault, state.id, request.method)
    state.error = answer.code
    try:
        return render(request, answer)
    finally:
        del answer  # else it keeps this frame, which keeps it, and with it what a body became


def report_fault(fault: Exception, request_id: str, method: str) -> Refusal:
    """Log a fault of ours under the request's id; what the caller learns of it."""
    of_request = {"request_id": request_id, "method": method}
    if isinstance(fault, StoreUnavailable):  # needs no traceback for each request that meets it
        log.error("request_failed", reason=str(fault), **of_request)
        text = "Nothing can be stored at the moment; try again in a few seconds."
        return Overloaded(text, _STORE_RETRY_SECONDS)
    # As text, without the variables, which may hold a key or a session. Nor is the path logged: it
    # may hold a login token.
    exception = "".join(traceback.format_exception(fault))
    log.error("request_failed", exception=exception, **of_request)
    return Refusal(ErrorCode.INTERNAL, "Something went wrong on our side; try again in a moment.")


async def with_request_log(
    requests: RequestLog, handler: Handler, request: Request, *, bodies: bool = True
) -> Response:
    """Append the request to the log that the request inspector shows; with its ``bodies``, or with
    their sizes only."""
    append = partial(_append, requests, request, bodies)
    try:
        response = await handler(request)
    except ClientDisconnect:
        append(GONE_STATUS, b"")
        raise
    body = getattr(response, "body", None)
    if body is None:
        return _StreamingResponse(response, append)
    append(
        response.status_code,
        body if len(body) <= REQUEST_BODY_READ_BYTES_MAX else LargeBody(len(body)),
    )
    return response


class _StreamingResponse(Response):
    """A response that is made while it is sent. Its body is not kept: ``log_sent`` gets its
    status and size once it is over, however it ends."""

    def __init__(self, response: Response, log_sent: Callable[[int, LargeBody], None]) -> None:
        self.status_code = response.status_code
        self.raw_headers = response.raw_headers  # the same list: more are added to it
        self.background = None
        self._response = response
        self._log_sent = log_sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, size = self.status_code, 0

        async def send_counting(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            await send(message)
            size += len(message.get("body", b""))

        try:
            await self._response(scope, receive, send_counting)
        finally:
            self._log_sent(status, LargeBody(size))


def _append(
    requests: RequestLog, request: Request, bodies: bool, status: int, body: bytes | LargeBody
) -> None:
    scope = request.scope
    state = state_of(scope)
    caller = state.caller
    traceparent = next((v for name, v in scope["headers"] if name == b"traceparent"), None)
    entry = RequestLogEntry(
        id=state.id,
        at=state.at,
        account_id=caller.account_id if caller else None,
        key_id=caller.key_id if caller else None,
        method=scope["method"],
        raw_path=scope["raw_path"],
        query=scope["query_string"],
        status=status,
        error=state.error,
        ms=round((time.perf_counter() - state.began) * 1_000),
        request_body=state.body,
        response_body=body,
        traceparent=traceparent_rules.valid(traceparent.decode("latin-1")) if traceparent else None,
        reads=state.reads,
    )
    requests.append(entry if bodies else entry.without_bodies())
