"""A chat whose server is away for a while."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from agentpost.cli import connection, prompting
from agentpost_client import RetryPolicy
from tests.cli.scripted import Server, message, run, server

__all__ = ["server"]

RETRIES = 6
"""More than a command makes that is called once."""


@contextmanager
def typed(_: Iterable[str]) -> Iterator[Callable[[str], str]]:
    lines = iter(["hello"])

    def ask(sign: str) -> str:
        for line in lines:
            return line
        raise EOFError

    yield ask


def test_at_a_terminal_a_chat_waits_for_its_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetryPolicy, "backoff", lambda *_: 0.0)
    monkeypatch.setattr(connection, "RETRY_NOTICE_SECONDS", 0)
    monkeypatch.setattr(prompting, "on_terminal", lambda: True)
    monkeypatch.setattr(prompting, "prompt", typed)
    server.on("GET /v1/me", {"user_id": "usr_1"})
    down = {"error": "unavailable", "message": "Down."}
    server.on("POST /v1/messages", *[down] * RETRIES, status=503)
    server.on("POST /v1/messages", message(reply="You said: hello"))
    server.on("GET /v1/messages/msg_1/events", {"data": [], "cursor": "c", "done": True})
    server.on("GET /v1/messages/msg_1", message(reply="You said: hello"))
    result = run("chat")
    assert (result.exit_code, "You said: hello" in result.stdout) == (0, True), result.output
    assert result.stderr.count("retrying in ") == RETRIES
    assert "the server answers again" in result.stderr


def test_in_a_pipe_a_chat_ends_with_the_error(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetryPolicy, "backoff", lambda *_: 0.0)
    server.on("GET /v1/me", {"error": "unavailable", "message": "Down."}, status=503)
    assert run("chat", stdin="hello\n").exit_code == 7
