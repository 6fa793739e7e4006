"""The ASGI application: it finds a request's handler, calls it and sends the response.

Plain ASGI, and a router of our own: with two commits as the floor of a request, what a framework
adds would be the larger part of its cost.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.http import bodies
from agentpost.http.pipeline import GONE_STATUS, Handler, Middleware, surround
from agentpost.http.request_state import state_of


class MethodNotAllowed(Refusal):
    """``method_not_allowed``: the route is there; ``allowed`` are its methods."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(ErrorCode.METHOD_NOT_ALLOWED, f"This route does not take {method}.")
        self.allowed = allowed


class Route:
    """A path with a handler for each method, within middlewares; HEAD is handled as GET.

    Args:
        path: may have parameters: ``{name}``, or ``{name:path}`` for one with slashes.
        middlewares: those around each handler, the first outermost.
        refusing: further middlewares, inside of those, around the refusal of another method.
    """

    def __init__(
        self,
        path: str,
        handlers: Mapping[str, Handler],
        middlewares: Sequence[Middleware],
        refusing: Sequence[Middleware] = (),
    ) -> None:
        self.path = path
        self.handlers = {m: surround(handler, middlewares) for m, handler in handlers.items()}
        if "GET" in handlers:
            self.handlers["HEAD"] = self.handlers["GET"]
        refuse = partial(_refuse_method, ", ".join(sorted(self.handlers)))
        self.refuse = surround(refuse, (*middlewares, *refusing))


async def _refuse_method(allowed: str, request: Request) -> Response:
    raise MethodNotAllowed(request.method, allowed)


Observe = Callable[[str, str | None, int, float], None]
"""Called with each request's method, the path of its route (None: no route has it), the status and
the seconds until the answer began."""


class RouteGroup(Protocol):
    """Routes with one form of response, such as JSON or pages."""

    @property
    def routes(self) -> Sequence[Route]:
        """The routes."""

    def unknown(self, scope: Scope) -> Handler | None:
        """The handler for an address that no route has; None leaves it to another group."""


class Application:
    """The application.

    Args:
        groups: their routes, of which one without parameters comes before any that has some. The
            first that has a handler for an unknown address handles it; one of them must.
        no_request: the response to bytes that are no HTTP request, given the problem; see
            `http.connection`.
        no_room: the response on a connection that is turned away, given the seconds after which its
            client may come back and the request's id; see `http.arrivals`.
        account_of: the account of a key, if it is known without looking it up.
        observe: measures each request.
    """

    def __init__(
        self,
        groups: Sequence[RouteGroup],
        *,
        no_request: Callable[[str], Response],
        no_room: Callable[[int, str], Response],
        account_of: Callable[[str], str | None] = lambda _: None,
        observe: Observe | None = None,
    ) -> None:
        self._groups = groups
        self._observe = observe
        self.no_request = no_request
        self.no_room = no_room
        self.account_of = account_of
        self._exact: dict[str, Route] = {}
        self._patterns: list[tuple[re.Pattern[str], Route]] = []
        for route in (route for group in groups for route in group.routes):
            if "{" in route.path:
                self._patterns.append((compile_path(route.path)[0], route))
            else:
                self._exact[route.path] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; no other kind of connection is served."""
        if scope["type"] != "http":
            return
        request, began = Request(scope, receive, send), time.perf_counter()
        route = self._route(scope)
        if route is None:
            handlers = (group.unknown(scope) for group in self._groups)
            handler = next(handler for handler in handlers if handler is not None)
        else:
            handler = route.handlers.get(scope["method"], route.refuse)
        response, status = None, GONE_STATUS
        try:
            with suppress(ClientDisconnect):
                response = await handler(request)
                status = response.status_code
            if self._observe is not None:
                path = route.path if route else None
                self._observe(scope["method"], path, status, time.perf_counter() - began)
            if response is None:
                return
            if bodies.is_left_over(request):
                await bodies.send_and_close(request, response, send)
            elif (peer := state_of(scope).peer) is None or not peer.answer(response):
                await response(scope, request.receive, send)
        finally:
            # The connection holds the scope: only the garbage collector could free the two, which
            # takes visible time at many requests.
            state_of(scope).peer = None

    def _route(self, scope: Scope) -> Route | None:
        """The route of an address; None when none has it."""
        path = scope["path"]
        if "\0" in path:  # no id and no path has one, and PostgreSQL takes none
            return None
        if path in self._exact:
            return self._exact[path]
        for pattern, route in self._patterns:
            if match := pattern.match(path):
                scope["path_params"] = match.groupdict()
                return route
        return None
