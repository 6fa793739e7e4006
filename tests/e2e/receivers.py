"""Webhook receivers on this machine: they keep what they got and behave as told."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from tests.waiting import PATIENCE, eventually

Json = dict[str, Any]


@dataclass(frozen=True)
class Delivery:
    """One attempt as it came in."""

    headers: dict[str, str]
    body: bytes
    path: str = ""

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> Json:
        """The event, after the official library has checked its signature; raises otherwise."""
        event: Json = Webhook(secret).verify(self.body, self.headers)
        return event


@dataclass
class Receiver:
    """Answers ``status`` and ``body`` (changeable at any time) and keeps every delivery."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    port: int = 0
    got: list[Delivery] = field(default_factory=list)
    held: threading.Event | None = None
    body: bytes = b"ok"
    first: list[int] = field(default_factory=list)
    """With what it answers the first deliveries, instead of ``status``."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def await_count(self, count: int, seconds: float = PATIENCE) -> list[Delivery]:
        """Wait for so many deliveries."""
        eventually(lambda: len(self.got) >= count, seconds, f"delivery number {count}")
        return list(self.got)

    def events(self, secret: str) -> list[Json]:
        """All deliveries so far, verified."""
        return [delivery.verified(secret) for delivery in self.got]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that was killed cuts its connections; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def receiving(status: int = 200, port: int = 0) -> Iterator[Receiver]:
    """A receiver that listens until the end of the block, on a free port if none is given."""
    receiver = Receiver(status)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Delivery(headers, body, self.path))
            if receiver.held is not None:
                receiver.held.wait(30)
            self.send_response(receiver.first.pop(0) if receiver.first else receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = _Server(("127.0.0.1", port), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.held is not None:
            receiver.held.set()
        server.shutdown()
        server.server_close()
        thread.join()


ReceiverMaker = Callable[..., Receiver]


# --- below HTTP ----------------------------------------------------------------------------------
Behaviour = Callable[[socket.socket, threading.Event], None]


@contextmanager
def raw_receiver(behave: Behaviour) -> Iterator[str]:
    """A socket whose connections are handled by ``behave``, given each and the end; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            try:
                with connection:
                    connection.recv(65_536)
                    behave(connection, ended)
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            ended.set()


def drip(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not ended.wait(0.1):
        connection.sendall(b"x")


def reset(connection: socket.socket, _: threading.Event) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
