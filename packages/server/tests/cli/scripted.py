"""A server that answers the caller's commands by a script."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner, Result

from agentpost.cli import app
from tests.client.scripted import KEY, served

FILE = {"file_id": "wrk_1/out/chart.png", "name": "chart.png", "size": 12_345, "kind": "image"}
REPLY = {"seq": 1, "type": "agent_reply", "text": "On it.", "delivered_sync": True}
STEP = {"seq": 2, "type": "progress", "step": "Drawing", "status": "started", "file_names": []}
RESULT = {"seq": 3, "type": "result", "title": "Chart", "outcome": "completed", "text": "12 rows."}
STALLED = {**RESULT, "outcome": "stalled_credits", "text": "Out of credits."}


class Server:
    """Answers a route with what is scripted for it, in turn; the last answer stays."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, Any]] = []
        self._answers: defaultdict[str, list[tuple[Any, int]]] = defaultdict(list)

    def on(self, route: str, *bodies: Any, status: int = 200) -> None:
        self._answers[route] += [(body, status) for body in bodies]

    def forget(self) -> None:
        """Nothing is scripted any more."""
        self._answers.clear()

    async def handle(self, request: Request) -> Response:
        body = await request.body()
        route = f"{request.method} {request.url.path}"
        if route.endswith("/stream") and route not in self._answers:
            return JSONResponse({"error": "not_found"}, 404)  # a server without event streams
        self.asked.append(
            (route, request.headers.get("Authorization", ""), json.loads(body or b"null"))
        )
        answers = self._answers[route]
        assert answers, f"nothing is scripted for {route}"
        content, status = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(content, bytes):
            return Response(content, status)
        return JSONResponse(content, status)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    scripted = Server()
    routes = [Route("/{path:path}", scripted.handle, methods=["GET", "POST"])]
    with served(Starlette(routes=routes)) as scripted.url:
        monkeypatch.setenv("AGENTPOST_URL", scripted.url)
        monkeypatch.setenv("AGENTPOST_KEY", KEY)
        yield scripted


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def message(status: str = "completed", final: bool = True, **fields: Any) -> dict[str, Any]:
    return {"id": "msg_1", "status": status, "final": final, "credits_used": 1.5, **fields}


def job(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"job_id": "exe_1", "work_id": "wrk_1", "title": "Chart", "status": status, **fields}


def log(*entries: dict[str, Any], done: bool = True) -> dict[str, Any]:
    return {"data": list(entries), "cursor": "c", "has_more": False, "done": done}
