"""Finding a request's handler, and what surrounds it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx2
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

from agentpost.clock import ManualClock
from agentpost.domain.errors import Refusal
from agentpost.http import pipeline
from agentpost.http.application import Application, MethodNotAllowed, Route
from agentpost.http.pipeline import Handler, Middleware, surround


def render(request: Request, refusal: Refusal) -> Response:
    allowed = refusal.allowed if isinstance(refusal, MethodNotAllowed) else ""
    return PlainTextResponse(f"{refusal.code} {allowed}".strip(), 400)


def saying(text: str) -> Handler:
    async def handle(request: Request) -> Response:
        return PlainTextResponse(f"{text} {dict(request.path_params)}")

    return handle


def failing(error: Exception) -> Handler:
    async def handle(_: Request) -> Response:
        raise error

    return handle


MIDDLEWARES: Sequence[Middleware] = (
    partial(pipeline.with_state, ManualClock()),
    partial(pipeline.with_errors, render),
)


class Group:
    """Routes; unknown addresses below ``prefix`` are its own."""

    def __init__(self, prefix: str, *routes: Route) -> None:
        self.prefix = prefix
        self.routes = routes

    def unknown(self, scope: Scope) -> Handler | None:
        if not scope["path"].startswith(self.prefix):
            return None
        return surround(saying(f"unknown below {self.prefix}"), MIDDLEWARES)


def route(path: str, **handlers: Handler) -> Route:
    return Route(path, handlers, MIDDLEWARES)


def no_request(problem: str) -> Response:
    return PlainTextResponse(problem, 400)


def no_room(retry_after_seconds: int, request_id: str) -> Response:
    return PlainTextResponse(f"{retry_after_seconds} {request_id}", 503)


def application(*groups: Group) -> Application:
    return Application(groups, no_request=no_request, no_room=no_room)


async def ask(app: Application, method: str, path: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.request(method, path)


@pytest.fixture
def app() -> Application:
    return application(
        Group("/pages", route("/pages", GET=saying("page"))),
        Group(
            "/",
            route("/works/{work_id}", GET=saying("work"), DELETE=saying("deleted")),
            route("/works/newest", GET=saying("newest")),
            route("/files/{path:path}", GET=saying("file")),
        ),
    )


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("GET", "/works/w1", "work {'work_id': 'w1'}"),
        ("DELETE", "/works/w1", "deleted {'work_id': 'w1'}"),
        ("GET", "/works/newest", "newest {}"),
        ("GET", "/files/a/b.txt", "file {'path': 'a/b.txt'}"),
        ("GET", "/pages", "page {}"),
        ("GET", "/works/w1/more", "unknown below / {}"),
        ("GET", "/pages/none", "unknown below /pages {}"),
        ("GET", "/works/w%00", "unknown below / {}"),
        ("POST", "/works/w1", "method_not_allowed DELETE, GET, HEAD"),
    ],
)
async def test_an_address_has_one_handler(
    app: Application, method: str, path: str, text: str
) -> None:
    assert (await ask(app, method, path)).text == text


async def test_each_request_is_measured_by_its_route() -> None:
    seen: list[tuple[str, str | None, int]] = []

    def observe(method: str, path: str | None, status: int, seconds: float) -> None:
        assert seconds >= 0
        seen.append((method, path, status))

    group = Group(
        "/",
        route("/works/{work_id}", GET=saying("work")),
        route("/gone", GET=failing(ClientDisconnect())),
        route("/broken", GET=failing(ValueError("ours"))),
    )
    app = Application([group], no_request=no_request, no_room=no_room, observe=observe)
    for path in ("/works/w1", "/none", "/broken"):
        await ask(app, "GET", path)
    await ask(app, "POST", "/works/w2")
    with pytest.raises(AssertionError):  # nothing is sent to a client that is gone
        await ask(app, "GET", "/gone")
    assert seen == [
        ("GET", "/works/{work_id}", 200),
        ("GET", None, 200),
        ("GET", "/broken", 400),
        ("POST", "/works/{work_id}", 400),
        ("GET", "/gone", 499),
    ]


async def test_other_connections_than_http_are_left_alone(app: Application) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("nothing is read or sent")

    await app({"type": "websocket", "path": "/pages"}, never, never)
