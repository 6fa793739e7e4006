"""Calls of one account that are there at once do not all go before that of another account."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from tests.e2e.server import KEY, AgentServer

CALLS = 24
TRIES = 5
"""A look for a key among these calls makes them come one by one: there is one each second."""


def test_a_call_of_another_account_does_not_wait_for_all_of_one(
    start_server: Callable[..., AgentServer],
) -> None:
    server = start_server()
    quiet_key = server.new_key("quiet")
    with ExitStack() as until:
        many = [until.enter_context(connected(server, KEY)) for _ in range(CALLS)]
        quiet = until.enter_context(connected(server, quiet_key))
        tries = (messages_before(server, many, quiet) for _ in range(TRIES))
        assert any(before < CALLS / 2 for before in tries)


def messages_before(server: AgentServer, many: list["Line"], quiet: "Line") -> int:
    """How many of the calls that arrive together, that of the other account last, make their
    message before that one does."""
    for line in (many[0], quiet):
        line.ask("GET", "/v1/me")
        line.answer()
    with stopped(server):
        for line in (*many, quiet):
            line.ask("POST", "/v1/messages?wait=0", {"message": "x" * 20_000})
    ids = [line.answer()["id"] for line in (*many, quiet)]
    return sorted(ids).index(ids[-1])


@contextmanager
def stopped(server: AgentServer) -> Iterator[None]:
    """The server's process stands still; what is sent waits in its sockets."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


class Line:
    """A connection with the key of an account."""

    def __init__(self, server: AgentServer, key: str, connection: socket.socket) -> None:
        self._head = f"Host: {server.url.removeprefix('http://')}\r\nAuthorization: Bearer {key}"
        self._connection = connection
        self._file = connection.makefile("rb")

    def ask(self, method: str, path: str, body: object = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}\r\nContent-Length: {len(data)}\r\n\r\n"
        self._connection.sendall(head.encode() + data)

    def answer(self) -> dict[str, str]:
        status = self._file.readline()
        length = 0
        while (line := self._file.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            length = int(value) if name.lower() == "content-length" else length
        body = self._file.read(length)
        assert status.split()[1] in (b"200", b"201"), body
        answer: dict[str, str] = json.loads(body)
        return answer


@contextmanager
def connected(server: AgentServer, key: str) -> Iterator[Line]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with closing(socket.create_connection((host, int(port)))) as connection:
        line = Line(server, key, connection)
        line.ask("GET", "/v1/me")
        line.answer()
        yield line
