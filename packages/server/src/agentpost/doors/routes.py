"""The routes of the doors, and loading what is behind them when they are first called."""

import asyncio
import gc
import re
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope as HttpScope

from agentpost.accounts.scope_rules import Scope
from agentpost.api import admission
from agentpost.api.errors import render_error
from agentpost.api.operation import Api
from agentpost.domain.errors import ErrorCode, NoRoute, Refusal
from agentpost.doors.openai.errors import openai_error
from agentpost.doors.rpc import rpc_error
from agentpost.extras import MissingExtra, require
from agentpost.http import pipeline
from agentpost.http.application import Route
from agentpost.http.headers import header
from agentpost.http.pipeline import Middleware, surround

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
    """A protocol, in the package of its name.

    ``routes`` have the function that handles them, by its module in the package, and the scope that
    a key needs; behind a route that has many operations, each of them asks for its own. Those of
    ``public`` need no key. ``extra`` is what has to be installed, None for nothing. ``error`` makes
    the response to a refused request, see `rpc_error`.
    """

    name: str
    extra: str | None
    error: Callable[[str, Request, Refusal], Response]
    routes: Mapping[PlaceOfRoute, tuple[str, Scope | None]]
    public: Mapping[PlaceOfRoute, str] = field(default_factory=dict)

    def function(self, place: str) -> Callable[..., Awaitable[Response]]:
        """The function at that place, which is imported by its first call; it raises ``not_found``
        when an extra is missing."""
        module, _, name = f"agentpost.doors.{self.name}.{place}".rpartition(".")
        loaded: list[ModuleType] = []

        async def call(*arguments: object) -> Response:
            if not loaded:
                self._require()
                loaded.append(await asyncio.to_thread(_import, module))
            response: Response = await getattr(loaded[0], name)(*arguments)
            return response

        return call

    def _require(self) -> None:
        if self.extra is None:
            return
        try:
            require(self.extra, f"This server does not speak {self.name} as it is installed")
        except MissingExtra as missing:
            raise NoRoute(str(missing)) from None


def _import(name: str) -> ModuleType:
    """Import a module that stays. What it made is left out of garbage collection: to look at that
    again and again holds up all calls, for a tenth of a second each time."""
    if name in sys.modules:  # for another function of it; what runs by now is no part of it
        return import_module(name)
    gc.disable()
    try:
        module = import_module(name)
        gc.freeze()
    finally:
        gc.enable()
    return module


_RESPONSE: Final = f"{OPENAI_PREFIX}responses/{{response_id}}"
_FILES: Final = f"{OPENAI_PREFIX}files"
_FILE: Final = f"{_FILES}/{{file_id:path}}"
_OPENAI: Final = {
    ("POST", f"{OPENAI_PREFIX}responses"): ("responses.create", Scope.SEND),
    ("GET", _RESPONSE): ("responses.retrieve", Scope.READ),
    ("DELETE", _RESPONSE): ("responses.delete", Scope.ADMIN),
    ("POST", f"{_RESPONSE}/cancel"): ("responses.cancel", Scope.SEND),
    ("GET", f"{_RESPONSE}/input_items"): ("responses.input_items", Scope.READ),
    ("POST", f"{OPENAI_PREFIX}chat/completions"): ("chat.create", Scope.SEND),
    ("POST", _FILES): ("files.create", Scope.SEND),
    ("GET", _FILES): ("files.list_page", Scope.READ),
    ("GET", f"{_FILE}/content"): ("files.content", Scope.READ),
    ("GET", _FILE): ("files.retrieve", Scope.READ),
    ("DELETE", _FILE): ("files.delete", Scope.SEND),
    ("GET", f"{OPENAI_PREFIX}models"): ("models.list_all", None),
    ("GET", f"{OPENAI_PREFIX}models/{{model}}"): ("models.get", None),
}
_CARD: Final = ("GET", "/.well-known/agent-card.json")
DOORS: Final = {
    door.name: door
    for door in (
        Door("mcp", "mcp", partial(rpc_error, 400), {("POST", "/mcp"): ("http.post", None)}),
        Door(
            "a2a",
            "a2a",
            partial(rpc_error, 200),
            {("POST", "/a2a"): ("http.post", None)},
            {_CARD: "http.get_card"},
        ),
        Door("openai", None, openai_error, _OPENAI),
    )
}
"""By the names that the setting has for them."""


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
            by_path: dict[str, dict[str, pipeline.Handler]] = defaultdict(dict)
            for (method, path), (place, scope) in door.routes.items():
                handler = door.function(place)
                action = "messages delete" if scope is Scope.ADMIN else ""
                by_path[path][method] = partial(admission.by_key, api, handler, scope, action)
            routes += [
                Route(path, handlers, by_key, counting) for path, handlers in by_path.items()
            ]
            plain = partial(pipeline.with_errors, partial(render_error, self._docs_url))
            for (method, path), place in door.public.items():
                public = partial(door.function(place), api)
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
