"""The routes of the doors, and loading what is behind them when they are first called."""

import asyncio
import gc
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope as HttpScope

from agentpost.accounts.scope_rules import Scope
from agentpost.api import admission
from agentpost.api.errors import error_response
from agentpost.api.operation import Api, Handler
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, NoRoute, Refusal
from agentpost.doors.openai.errors import openai_error
from agentpost.doors.rpc import rpc_error
from agentpost.extras import MissingExtra, require
from agentpost.http import pipeline
from agentpost.http.application import Route
from agentpost.http.headers import header
from agentpost.http.pipeline import Middleware, surround
from agentpost.http.request_state import state_of

OPENAI_PREFIX: Final = "/openai/v1/"
_WRONG_BASE: Final = re.compile(
    r"(/v1|/openai|/api/v1|/openai/v1/v1)?"
    r"/(responses|chat/completions|completions|models|embeddings)(/.*)?"
    r"|(/v1|/openai|/api/v1|/openai/v1/v1)/files"
)
"""Where a client of OpenAI calls whose base address is not ours."""
_ORIGIN = b"origin"

PlaceOfRoute = tuple[str, str]
"""Its method and path."""


@dataclass(frozen=True, slots=True)
class Door:
    """A protocol.

    ``module`` has ``handlers(api)``, which returns a handler for each of ``routes``, and for a door
    with ``public`` routes ``public(api)`` for those, which need no key. ``extra`` is what has to be
    installed, None for nothing. ``error`` makes the response to a refused request, see `rpc_error`.
    ``routes`` have the scope that a key needs; behind one that has many operations, each of them
    asks for its own.
    """

    module: str
    extra: str | None
    error: Callable[[str, Request, Refusal], Response]
    routes: Mapping[PlaceOfRoute, Scope | None]
    public: Sequence[PlaceOfRoute] = ()


DOORS: Final = {
    "mcp": Door(
        "agentpost.doors.mcp.http", "mcp", partial(rpc_error, 400), {("POST", "/mcp"): None}
    ),
    "a2a": Door(
        "agentpost.doors.a2a.http",
        "a2a",
        partial(rpc_error, 200),
        {("POST", "/a2a"): None},
        (("GET", "/.well-known/agent-card.json"),),
    ),
    "openai": Door(
        "agentpost.doors.openai.http",
        None,
        openai_error,
        {
            ("POST", "/openai/v1/responses"): Scope.SEND,
            ("GET", "/openai/v1/responses/{response_id}"): Scope.READ,
            ("DELETE", "/openai/v1/responses/{response_id}"): Scope.ADMIN,
            ("POST", "/openai/v1/responses/{response_id}/cancel"): Scope.SEND,
            ("GET", "/openai/v1/responses/{response_id}/input_items"): Scope.READ,
            ("POST", "/openai/v1/chat/completions"): Scope.SEND,
            ("POST", "/openai/v1/files"): Scope.SEND,
            ("GET", "/openai/v1/files"): Scope.READ,
            ("GET", "/openai/v1/files/{file_id:path}/content"): Scope.READ,
            ("GET", "/openai/v1/files/{file_id:path}"): Scope.READ,
            ("DELETE", "/openai/v1/files/{file_id:path}"): Scope.SEND,
            ("GET", "/openai/v1/models"): None,
            ("GET", "/openai/v1/models/{model}"): None,
        },
    ),
}
"""By the names that the setting has for them."""


class _Loaded:
    """What is behind a door; imported by the first call, in a thread."""

    def __init__(self, api: Api, name: str, door: Door) -> None:
        self._api = api
        self._name = name
        self._door = door
        self._lock = asyncio.Lock()
        self._handlers: Mapping[PlaceOfRoute, Handler] | None = None
        self._public: Mapping[PlaceOfRoute, pipeline.Handler] = {}

    async def call(
        self, route: PlaceOfRoute, api: Api, request: Request, caller: Caller
    ) -> Response:
        """Handle a request with a key; raises ``not_found`` when an extra is missing."""
        handlers = self._handlers or await self._load()
        return await handlers[route](api, request, caller)

    async def call_public(self, route: PlaceOfRoute, request: Request) -> Response:
        """Handle a request that needs no key; raises ``not_found`` when an extra is missing."""
        if self._handlers is None:
            await self._load()
        return await self._public[route](request)

    async def _load(self) -> Mapping[PlaceOfRoute, Handler]:
        async with self._lock:
            if self._handlers is None:
                self._require()
                module = await asyncio.to_thread(_import, self._door.module)
                if self._door.public:
                    self._public = module.public(self._api)
                self._handlers = module.handlers(self._api)
            return self._handlers

    def _require(self) -> None:
        if self._door.extra is None:
            return
        try:
            require(self._door.extra, f"This server does not speak {self._name} as it is installed")
        except MissingExtra as missing:
            raise NoRoute(str(missing)) from None


def _import(name: str) -> ModuleType:
    """Import a module that stays. What it made is left out of garbage collection: to look at that
    again and again holds up all calls, for a tenth of a second each time."""
    gc.disable()
    try:
        module = import_module(name)
        gc.freeze()
    finally:
        gc.enable()
    return module


class DoorRoutes:
    """The routes of the doors that the settings name."""

    def __init__(self, api: Api) -> None:
        ctx = api.ctx
        self._docs_url = f"{ctx.settings.public_url}/docs/errors"
        self._has_openai = "openai" in ctx.settings.doors
        own = ctx.settings.public_url
        state = partial(pipeline.with_state, ctx.clock)
        logging = partial(pipeline.with_request_log, ctx.requests, bodies=False)
        routes: list[Route] = []
        for name in dict.fromkeys(ctx.settings.doors):
            door = DOORS[name]
            errors = partial(pipeline.with_errors, partial(door.error, self._docs_url))
            origin = partial(with_own_origin, own)
            by_key = (state, logging, admission.with_rate_limit_headers, errors, origin)
            counting = (partial(admission.with_count, api),)
            loaded = _Loaded(api, name, door)
            by_path: dict[str, dict[str, pipeline.Handler]] = defaultdict(dict)
            for (method, path), scope in door.routes.items():
                handler = partial(loaded.call, (method, path))
                action = "messages delete" if scope is Scope.ADMIN else ""
                by_path[path][method] = partial(admission.by_key, api, handler, scope, action)
            routes += [
                Route(path, handlers, by_key, counting) for path, handlers in by_path.items()
            ]
            plain = partial(pipeline.with_errors, partial(_plain_error, self._docs_url))
            for method, path in door.public:
                public = partial(loaded.call_public, (method, path))
                routes.append(Route(path, {method: public}, (state, plain)))
        render = partial(openai_error, self._docs_url)
        unknown: Sequence[Middleware] = (state, partial(pipeline.with_errors, render))
        self._unknown = surround(_no_such_route, unknown)
        wrong_base = partial(_no_openai_here, own)
        self._wrong_base = surround(wrong_base, unknown)
        if self._has_openai:  # a page's address has this form
            routes.append(Route("/chat/completions", {"POST": wrong_base}, unknown))
        self.routes = routes

    def unknown(self, scope: HttpScope) -> pipeline.Handler | None:
        """See `RouteGroup.unknown`."""
        if not self._has_openai:
            return None
        if _WRONG_BASE.fullmatch(scope["path"]):
            return self._wrong_base
        return self._unknown if f"{scope['path']}/".startswith(OPENAI_PREFIX) else None


async def with_own_origin(own: str, handler: pipeline.Handler, request: Request) -> Response:
    """Refuse a browser that shows a page of somebody else: only programs call here. A name that
    was made to point at this server (DNS rebinding) gives such a page no way in."""
    origin = header(request, _ORIGIN)
    if origin is not None and origin.rstrip("/") != own:
        text = "This address is called by programs, not by web pages of another origin."
        raise Refusal(ErrorCode.FORBIDDEN, text)
    return await handler(request)


async def _no_such_route(_: Request) -> Response:
    raise NoRoute(
        "There is no such route in this part of the OpenAI API: send messages with POST"
        f" {OPENAI_PREFIX}responses (`client.responses.create`) or {OPENAI_PREFIX}chat/completions"
        " (`client.chat.completions.create`).",
    )


async def _no_openai_here(own: str, _: Request) -> Response:
    raise NoRoute(
        f"The OpenAI API of this server is not here: set base_url to {own}{OPENAI_PREFIX[:-1]}."
    )


def _plain_error(docs_url: str, request: Request, refusal: Refusal) -> Response:
    return error_response(refusal, state_of(request.scope).id, docs_url)
