"""The application: every route, and what surrounds each request.

Every request gets an id; the key is checked before the body; every failure has one shape; a server
error is a 500 with the id that is in the log. Plain ASGI on Starlette's router: with two commits as
the floor of a request, what a framework adds on top would be the larger part of its cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Message, Receive, Scope, Send

from agentpost.api import (
    account,
    blobs,
    errors_page,
    events,
    files,
    inspector,
    intake,
    messages,
    openapi,
    recover,
    request_state,
    upload_target,
    uploads,
    webhooks,
    work,
)
from agentpost.api.auth import Keys
from agentpost.api.errors import error_response, fault_of_ours
from agentpost.api.headers import add_budget, admit
from agentpost.api.operation import Api, Operation
from agentpost.api.published import Published
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, KeyEnded, Refusal
from agentpost.services.context import AppContext
from agentpost.services.health_state import PROBLEMS
from agentpost.storage.incoming import TARGET_PATH, Receiver
from agentpost.storage.signing import LinkSigner

log = structlog.get_logger(__name__)

OPERATIONS: tuple[Operation, ...] = (
    *messages.OPERATIONS,
    *events.OPERATIONS,
    *recover.OPERATIONS,
    *uploads.OPERATIONS,
    *work.OPERATIONS,
    *files.OPERATIONS,
    *account.OPERATIONS,
    *webhooks.OPERATIONS,
)

API_PREFIX = "/v1/"
JSON = "application/json"
ICON = Path(__file__).with_name("icon.svg")
Answer = Callable[[Request], Awaitable[Response]]


class App:
    """The ASGI application.

    Args:
        signer: checks the links that `blobs` answers.
        ready: whether requests can be served.
        pages: the web app's routes.
        receiver: takes posted uploads, when clients post them to this server.
        operations: what it serves; a node that runs jobs only has none.
    """

    def __init__(
        self,
        ctx: AppContext,
        signer: LinkSigner,
        *,
        ready: Callable[[], bool],
        pages: Sequence[BaseRoute] = (),
        receiver: Receiver | None = None,
        operations: Sequence[Operation] = OPERATIONS,
    ) -> None:
        self._ctx = ctx
        self.keys = Keys(ctx)
        self._api = Api(ctx, self.keys)
        self._signer = signer
        self._ready = ready
        self._docs_url = f"{ctx.settings.public_url}/docs/errors"
        self._answers: dict[str, dict[str, Answer]] = defaultdict(dict)
        self._add_plain_routes()
        if receiver is not None:
            self._answers[TARGET_PATH].update(upload_target.answers(ctx, receiver))
        for operation in operations:
            self._answers[operation.path][operation.method] = self._guarded(operation)
        self._routes: list[BaseRoute] = [
            Route(path, _Dispatch(self, answers)) for path, answers in self._answers.items()
        ]
        self._routes.extend(pages)

    def _add_plain_routes(self) -> None:
        """Routes that need no key."""
        url = self._ctx.settings.public_url
        described = Published(lambda: msgspec.json.encode(openapi.document(OPERATIONS, url)), JSON)
        self._answers["/openapi.json"]["GET"] = described
        self._answers["/docs/errors"]["GET"] = Published(errors_page.page, "text/html")
        self._answers["/favicon.ico"]["GET"] = Published(ICON.read_bytes, "image/svg+xml")
        self._answers["/healthz"]["GET"] = _always(lambda: JSONResponse({"status": "live"}))
        self._answers["/readyz"]["GET"] = _always(self._readiness)

        async def download(request: Request) -> Response:
            return await blobs.download(self._api, self._signer, request)

        self._answers["/files/{file_id:path}"]["GET"] = download

    def _readiness(self) -> Response:
        """The results of the last checks of the stores, by name; why they fail is in the log."""
        health = self._ctx.health
        if not self._ready():
            return JSONResponse({"status": "starting"}, 503)
        if failing := health.failing():
            problems = {name: PROBLEMS[name] for name in failing}
            return JSONResponse({"status": "failing", "failing": problems}, 503)
        degraded = health.degraded()
        return JSONResponse({"status": "ready", **({"degraded": degraded} if degraded else {})})

    def _guarded(self, operation: Operation) -> Answer:
        """The key first, then the handler."""

        async def answer(request: Request) -> Response:
            caller = await self.keys.caller(request)
            await admit(self._api, request, caller)
            return await operation.handler(self._api, request, caller)

        return answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; other kinds of connection are not ours."""
        if scope["type"] != "http":
            return
        for route in self._routes:
            match, child = route.matches(scope)
            if match is not Match.NONE:
                scope.update(child)
                await route.handle(scope, receive, send)
                return
        await self.answer(self._unknown_route, scope, receive, send)

    async def _unknown_route(self, request: Request) -> Response:
        await self._count_known(request)
        raise Refusal(ErrorCode.NOT_FOUND, "There is no such route.")

    async def wrong_method(self, request: Request) -> Response:
        """The route is there, the method is not."""
        await self._count_known(request)
        raise Refusal(ErrorCode.METHOD_NOT_ALLOWED, f"This route does not take {request.method}.")

    async def _count_known(self, request: Request) -> None:
        """Every request with a live key counts, also one that leads nowhere (spec: Limits)."""
        if not request.scope["path"].startswith(API_PREFIX):
            return
        try:
            caller = await self.keys.caller(request)
        except Refusal:
            return
        await admit(self._api, request, caller)

    def no_request(self, problem: str) -> Response:
        """The answer to bytes that are no request; the connection ends with it."""
        request_id = new_id(ids.REQUEST, self._ctx.clock.now())
        log.warning("invalid_http", request_id=request_id, problem=problem)
        refusal = Refusal(ErrorCode.BAD_REQUEST, problem)
        response = error_response(refusal, request_id, self._docs_url)
        response.headers["Request-Id"] = request_id
        response.headers["Connection"] = "close"
        return response

    async def answer(self, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a handler and send its response, or an error response when it raises."""
        request = Request(scope, receive, send)
        state = request_state.begin(scope, self._ctx.clock)
        structlog.contextvars.bind_contextvars(request_id=state.id)  # for every line it causes
        error: ErrorCode | None = None
        try:
            if "\0" in scope["path"]:  # no id and no path has one, and PostgreSQL takes none
                answer = self._unknown_route
            response = await answer(request)
        except Refusal as refusal:
            error = refusal.code
            response = error_response(refusal, state.id, self._docs_url)
            if isinstance(refusal, KeyEnded):
                self.keys.forget()  # it was live a moment ago
            if refusal.code is ErrorCode.UNAUTHORIZED:  # a key that ended has no budget left
                state.budget = None
        except ClientDisconnect:
            inspector.append(self._ctx, scope, state, None)
            return
        except Exception as fault:
            shown = fault_of_ours(fault)
            error = shown.code
            # One that is known needs no traceback for each request that meets it.
            is_known = error is ErrorCode.UNAVAILABLE
            log.error(
                "request_failed",
                request_id=state.id,
                method=scope["method"],
                **({"reason": str(fault)} if is_known else {"exc_info": fault}),
            )
            response = error_response(shown, state.id, self._docs_url)
        finally:
            state.end()
        response.raw_headers.append((b"request-id", state.id.encode()))
        add_budget(state, response)
        inspector.append(self._ctx, scope, state, response, error)
        if intake.is_left_over(request):
            await intake.send_and_close(request, response, send)
        else:
            await response(scope, receive, send)


class _Dispatch:
    """One route's methods."""

    def __init__(self, app: App, answers: dict[str, Answer]) -> None:
        self._app = app
        self._answers = answers
        self._allow = ", ".join(sorted(answers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        answer = self._answers.get("GET" if method == "HEAD" else method)
        if answer is not None:
            await self._app.answer(answer, scope, receive, send)
            return

        async def with_allow(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"allow", self._allow.encode()))
            await send(message)

        await self._app.answer(self._app.wrong_method, scope, receive, with_allow)


def _always(build: Callable[[], Response]) -> Answer:
    async def answer(_: Request) -> Response:
        return build()

    return answer
