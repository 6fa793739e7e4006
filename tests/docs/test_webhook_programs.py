"""The receivers of `docs/recipes/webhooks.md`, asked as the framework's own tests ask."""

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

from agentpost_client import webhooks
from tests.docs.snippets import programs
from tests.house.tree import DOCS

PAGE = DOCS / "recipes/webhooks.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = json.dumps(
    {
        "type": "webhook.test",
        "timestamp": "2026-01-31T09:30:00Z",
        "data": {"object": "webhook_test", "webhook_endpoint_id": "whe_1"},
    }
).encode()
MESSAGE = b'{"type": "message.completed", "data": {"id": "msg_1", "status": "completed"}}'
Post = Callable[[bytes, Mapping[str, str]], int]
"""Sends a body with headers to the program; its status."""


def fail(*_: object) -> None:
    """What a program does with an event that it cannot handle."""
    raise RuntimeError


def fastapi(program: ModuleType) -> Post:
    from starlette.testclient import TestClient

    client = TestClient(program.app)
    return lambda body, headers: client.post("/hooks", content=body, headers=headers).status_code


def aws_lambda(program: ModuleType) -> Post:
    """Called by turns as API Gateway's HTTP API calls a function, and as a load balancer may."""
    turns = count()

    def post(body: bytes, headers: Mapping[str, str]) -> int:
        plain = {"headers": dict(headers), "body": body.decode(), "isBase64Encoded": False}
        lists = {name.title(): [value] for name, value in headers.items()}
        coded = {"body": b64encode(body).decode(), "isBase64Encoded": True}
        call = {"headers": None, "multiValueHeaders": lists, **coded}
        answer = program.handler(plain if next(turns) % 2 else call, None)
        return int(answer["statusCode"])

    return post


@pytest.mark.parametrize("framework", [fastapi, aws_lambda], ids=lambda each: each.__name__)
def test_a_receiver_takes_what_is_signed(
    framework: Callable[[ModuleType], Post], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"hooks_{framework.__name__}"
    (tmp_path / f"{name}.py").write_text(programs(PAGE)[f"{name}.py"], "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    program = import_module(name)
    try:
        post = framework(program)
        signed = webhooks.sign(BODY, SECRET)
        assert [post(BODY, signed), post(BODY, signed)] == [204, 204]
        assert program.handled == {signed["webhook-id"]}
        assert post(BODY.replace(b"whe_1", b"whe_2"), signed) == 400
        assert post(BODY, {}) == 400
        unhandled = webhooks.sign(MESSAGE, SECRET)
        monkeypatch.setattr(program, "print", fail, raising=False)
        with suppress(RuntimeError):
            post(MESSAGE, unhandled)
        assert program.handled == {signed["webhook-id"]}, "what failed has to be sent again"
    finally:
        del sys.modules[name]
