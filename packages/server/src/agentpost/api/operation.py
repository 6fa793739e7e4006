"""An operation: one method of one route, described once for routing and for the OpenAPI page."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.scope_rules import Scope
from agentpost.api.auth import Keys
from agentpost.api.header_docs import Header
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.contract.shape import Shape
from agentpost.domain.errors import ErrorCode
from agentpost.http.bodies import BodyBudget
from agentpost.http.request_state import state_of
from agentpost.wakeups.base import Wait


@dataclass(slots=True)
class Api:
    """The objects that handlers use."""

    ctx: AppContext
    keys: Keys
    body_budget: BodyBudget = field(default_factory=BodyBudget)


Handler = Callable[[Api, Request, Caller], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter that is a whole number; ``default`` None: leaving it out says something
    that no number does."""

    name: str
    description: str
    least: int
    most: int
    default: int | None


@dataclass(frozen=True, slots=True)
class Text:
    """A query parameter that is text.

    Args:
        choices: if any, it is one of these.
        format: the format of JSON Schema that the handler checks.
        pattern: the regular expression that the handler checks.
    """

    name: str
    description: str
    choices: tuple[str, ...] = ()
    format: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """A query parameter of several labels with a text each: ``name=label=text`` for each.

    It is described as a list of texts, because generators send maps in five ways or not at all.
    ``name[label]=text`` says the same.
    """

    name: str
    description: str
    pattern: str = "^[^{=][^=]*="
    """Refuses the maps that some generated clients send as one text: ``{"label": "text"}``."""


JSON = "application/json"
STREAMED = ("text/event-stream",)


@dataclass(frozen=True, slots=True)
class Success:
    """A way to succeed; ``headers``: those besides the ones of every answer; ``media``: the types
    of its body, of which the client chooses with ``Accept``."""

    status: int
    description: str
    headers: tuple[Header, ...] = ()
    has_body: bool = True
    media: tuple[str, ...] = (JSON,)


OK = Success(200, "Success")
CREATED = Success(201, "Created")


@dataclass(frozen=True, slots=True)
class Command:
    """How the command line offers an operation that lists, shows, ends or deletes something.

    ``words`` name the command and the client's method: ``schedules list`` prints what
    ``client.schedules.list`` gives. ``columns`` are those of a list, each a path into its records:
    ``heading=created_at``, with ``|text`` behind it for what stands there instead of nothing. A
    path that begins with ``@`` is computed by the command. ``extra`` are the columns that a narrow
    terminal has no room for. ``empty`` is said of a list without records.
    """

    words: str
    columns: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    empty: str = ""
    help: str = ""
    """Instead of the operation's summary, where the command does less."""


@dataclass(slots=True, eq=False)
class Operation:
    """The request and responses of one method of a route, above the function that handles it.

    ``route`` is method and path: ``GET /v1/work``. ``scope`` is what a key needs for it, None: any
    key may. ``summary`` and ``description``, which is the handler's docstring unless it is given,
    are for who calls the API. ``answer`` is the shape of every success that has a body, ``event``
    that of each event when it is streamed. ``errors`` are the codes besides those of all
    operations; those with which its path, its parameters and its body may be refused need not be
    named. ``action``: what the audit log calls it, as the command of the same effect; each
    operation of the scope `admin` that changes something has one. ``command``: that of the command
    line, where it is made from here. ``is_repeatable``: whether a POST may be sent again when its
    answer was lost (spec: Retry safety), which the clients do; every other method may.
    """

    id: str
    route: str
    scope: Scope | None
    summary: str
    answer: type[Shape]
    event: type[Shape] | None = None
    errors: tuple[ErrorCode, ...] = ()
    body: type[BaseModel] | None = None
    body_required: bool = True
    successes: tuple[Success, ...] = (OK,)
    queries: tuple[Query, ...] = ()
    texts: tuple[Text, ...] = ()
    labels: tuple[Labels, ...] = ()
    headers: tuple[Header, ...] = ()
    action: str = ""
    command: Command | None = None
    is_repeatable: bool = False
    description: str = ""
    method: str = field(init=False)
    path: str = field(init=False)
    handler: Handler = field(init=False)

    def __call__(self, handler: Callable[..., Awaitable[Response]]) -> Self:
        """Take the function that handles it, with the parameters of the path by their names."""
        self.handler = handler if "{" not in self.path else partial(_call_with_path, handler)
        self.description = self.description or " ".join((handler.__doc__ or "").split())
        return self

    def __post_init__(self) -> None:
        self.method, _, self.path = self.route.partition(" ")
        administers = self.scope is Scope.ADMIN and self.method != "GET"
        assert administers == bool(self.action), f"the audit log needs a name for {self.id}"
        has_values = self.queries or self.texts or self.labels or self.body
        codes = [ErrorCode.INVALID_REQUEST] if has_values else []
        codes += self.errors
        codes += [ErrorCode.NOT_FOUND] if "{" in self.path else []
        codes += [ErrorCode.TOO_LARGE] if self.body else []
        self.errors = tuple(dict.fromkeys(codes))


def _call_with_path(
    handler: Callable[..., Awaitable[Response]], api: Api, request: Request, caller: Caller
) -> Awaitable[Response]:
    return handler(api, request, caller, **request.path_params)


def respond(shape: Shape, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(shape.json(), status, headers, media_type="application/json")


def watch_hang_up(request: Request, wait: Wait) -> None:
    """Cancel a held wait as soon as the client is gone, so its place is free within a second."""
    state = state_of(request.scope)
    if state.peer is not None and not state.peer.more_body:
        state.peer.watch(wait.cancel)
    else:
        task = asyncio.get_running_loop().create_task(_end_on_hang_up(request, wait))
        state.at_end.append(task.cancel)


async def _end_on_hang_up(request: Request, wait: Wait) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    wait.cancel()
