"""The routes of the API and what surrounds each request to it.

Every request gets an id; the key is checked before the body; every failure has one shape; a server
error is a 500 with the id that is in the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from agentpost.accounts import routes as account_routes
from agentpost.api import admission, docs_pages, openapi
from agentpost.api.errors import error_response, render_error
from agentpost.api.operation import Api, Operation
from agentpost.clock import new_id
from agentpost.credits import routes as credit_routes
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal
from agentpost.events import routes as event_routes
from agentpost.files import routes as file_routes
from agentpost.following import routes as following_routes
from agentpost.http import any_origin, pipeline
from agentpost.http.application import Route
from agentpost.http.pipeline import Handler, Middleware, surround
from agentpost.http.published import PublishedDocument
from agentpost.jobs import routes as job_routes
from agentpost.messages import list_routes, routes as message_routes
from agentpost.operations.health_state import Health
from agentpost.operations.routes import PATH as METRICS_PATH
from agentpost.requests import routes as request_routes
from agentpost.schedules import routes as schedule_routes
from agentpost.storage.incoming import TARGET_PATH, Receiver
from agentpost.storage.signing import LinkSigner
from agentpost.uploads import routes as upload_routes, target_routes
from agentpost.webhooks import routes as webhook_routes

OPERATIONS: tuple[Operation, ...] = (
    *message_routes.OPERATIONS,
    *list_routes.OPERATIONS,
    *following_routes.OPERATIONS,
    *event_routes.OPERATIONS,
    *upload_routes.OPERATIONS,
    *job_routes.OPERATIONS,
    *file_routes.OPERATIONS,
    *account_routes.OPERATIONS,
    *credit_routes.OPERATIONS,
    *request_routes.OPERATIONS,
    *schedule_routes.OPERATIONS,
    *webhook_routes.OPERATIONS,
)

PREFIX = "/v1/"
_METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST"
JSON = "application/json"
ICON = Path(__file__).with_name("icon.svg")


class ApiRoutes:
    """The routes that speak JSON.

    Args:
        signer: checks the links to files.
        is_ready: whether requests can be served.
        receiver: takes posted uploads, when clients post them to this server.
        operations: what it serves; a node that only runs jobs has none.
        metrics: answers `/metrics`; without it there is no such address.
    """

    def __init__(
        self,
        api: Api,
        signer: LinkSigner,
        *,
        is_ready: Callable[[], bool],
        receiver: Receiver | None = None,
        operations: Sequence[Operation] = OPERATIONS,
        metrics: Handler | None = None,
    ) -> None:
        ctx = api.ctx
        self._clock = ctx.clock
        self.account_of = api.keys.account_of
        self._docs_url = f"{ctx.settings.public_url}/docs/errors"
        with_state = partial(pipeline.with_state, ctx.clock)
        with_errors = partial(pipeline.with_errors, partial(render_error, self._docs_url))
        open_to_all: Sequence[Middleware] = (with_state, with_errors)
        with_origins = partial(pipeline.with_headers, any_origin.HEADERS)
        to_any_origin: Sequence[Middleware] = (with_state, with_origins, with_errors)
        by_key: Sequence[Middleware] = (
            with_state,
            partial(pipeline.with_request_log, ctx.requests),
            admission.with_rate_limit_headers,
            with_errors,
        )
        counting = (partial(admission.with_count, api),)
        self._unknown = surround(_no_such_route, open_to_all)
        self._unknown_with_key = surround(_no_such_route, (*by_key, *counting))

        by_path: dict[str, dict[str, Handler]] = defaultdict(dict)
        for operation in operations:
            handler = partial(
                admission.by_key, api, operation.handler, operation.scope, operation.action
            )
            by_path[operation.path][operation.method] = handler
        plain = _public(ctx.settings.public_url, partial(_readiness, ctx.health, is_ready))
        signed: dict[str, Mapping[str, Handler]] = {
            file_routes.LINK_PATH: {
                "GET": partial(file_routes.download, api, signer),
                "OPTIONS": any_origin.preflight("GET", "HEAD"),
            }
        }
        if metrics is not None:
            plain[METRICS_PATH] = {"GET": metrics}
        if receiver is not None:
            signed[TARGET_PATH] = target_routes.handlers(ctx, receiver)
        self.routes = [
            *(Route(path, handlers, by_key, counting) for path, handlers in by_path.items()),
            *(Route(path, handlers, open_to_all) for path, handlers in plain.items()),
            *(Route(path, handlers, to_any_origin) for path, handlers in signed.items()),
        ]

    def unknown(self, scope: Scope) -> Handler:
        """The handler for an address that no route has."""
        return self._unknown_with_key if scope["path"].startswith(PREFIX) else self._unknown

    def no_request(self, problem: str) -> Response:
        """The response to bytes that are no request; the connection ends with it."""
        request_id = new_id(ids.REQUEST, self._clock.now())
        return self._last_answer(Refusal(ErrorCode.BAD_REQUEST, problem), request_id)

    def no_room(self, retry_after_seconds: int, request_id: str) -> Response:
        """The response on a connection that is turned away, which ends with it."""
        text = "More connections arrive than can be served; try again soon."
        return self._last_answer(Overloaded(text, retry_after_seconds), request_id)

    def _last_answer(self, refusal: Refusal, request_id: str) -> Response:
        response = error_response(refusal, request_id, self._docs_url)
        response.headers["Request-Id"] = request_id
        response.headers["Connection"] = "close"
        return response


async def _no_such_route(_: Request) -> Response:
    raise Refusal(ErrorCode.NOT_FOUND, "There is no such route.")


def _public(url: str, readiness: Handler) -> dict[str, Mapping[str, Handler]]:
    """What everybody may read, by path."""

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"})

    def page(make: Callable[[], bytes]) -> PublishedDocument:
        return PublishedDocument(make, "text/html", docs_pages.policy)

    pages: dict[str, Handler] = {
        "/openapi.json": PublishedDocument(
            lambda: msgspec.json.encode(openapi.document(OPERATIONS, url)), JSON
        ),
        "/docs": page(lambda: docs_pages.reference(openapi.document(OPERATIONS, url), url)),
        "/docs/errors": page(lambda: docs_pages.errors(url)),
        "/favicon.ico": PublishedDocument(ICON.read_bytes, "image/svg+xml"),
        "/healthz": live,
        "/readyz": readiness,
    }
    own: dict[str, Mapping[str, Handler]] = {"*": {"OPTIONS": _methods}}
    return own | {path: {"GET": handler} for path, handler in pages.items()}


async def _methods(_: Request) -> Response:
    """``OPTIONS *``, with which proxies ask whether a server answers (RFC 9110, 9.3.7)."""
    return Response(status_code=204, headers={"Allow": _METHODS})


async def _readiness(health: Health, is_ready: Callable[[], bool], _: Request) -> Response:
    """The results of the last checks of the parts, by name, with the problem where there is more to
    tell than the name; the log has the reason."""
    if not is_ready():
        return JSONResponse({"status": "starting"}, 503)
    problems = health.problems()
    failing = {name: problems[name] for name in health.failing()}
    degraded = health.failing_parts()
    parts = {
        "failing": failing,
        "degraded": degraded,
        "problems": {name: problems[name] for name in degraded if name in problems},
    }
    body = {name: value for name, value in parts.items() if value}
    status = {"status": "failing" if failing else "ready"}
    return JSONResponse(status | body, 503 if failing else 200)
