"""Connections that a server closes while a request is sent on them (RFC 9112, 9.3.1)."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx2
import pytest

from agentpost.verify.wire import Wire

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Heard = list[list[bytes]]


@contextmanager
def closing_after(answers: int) -> Iterator[tuple[str, Heard]]:
    """A server that answers so many requests of a connection and closes it at the next one; the
    address, and what each connection asked."""
    heard: Heard = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        asked: list[bytes] = []
        heard.append(asked)
        with connection, connection.makefile("rb") as lines:
            while (line := lines.readline()) != b"":
                while lines.readline() not in (b"\r\n", b""):
                    pass
                asked.append(line.split()[0])
                if len(asked) > answers:
                    break
                connection.sendall(ANSWER)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def ask(wire: Wire, method: str, url: str) -> int:
    return wire.request(method, url, None, {}, silence=10, seconds=20, follow=False).status_code


def test_a_kept_connection_that_is_closed_is_no_failure() -> None:
    with closing_after(1) as (url, heard), closing(Wire()) as wire:
        assert [ask(wire, "GET", url) for _ in range(2)] == [200, 200]
    assert heard == [[b"GET", b"GET"], [b"GET"]]


def test_a_request_that_must_not_be_repeated_gets_a_connection_of_its_own() -> None:
    with closing_after(1) as (url, heard), closing(Wire()) as wire:
        assert [ask(wire, method, url) for method in ("GET", "POST", "PATCH")] == [200] * 3
    assert sorted(heard) == [[b"GET"], [b"PATCH"], [b"POST"]]


def test_a_server_that_never_answers_is_found() -> None:
    never = closing_after(0)
    with never as (url, heard), closing(Wire()) as wire, pytest.raises(httpx2.RemoteProtocolError):
        ask(wire, "GET", url)
    assert heard == [[b"GET"]]
