"""A balancer before several servers, as simple as one can be.

It asks `/readyz`, gives each request to a server that is ready, and tries the next one only when a
server takes no connection.
"""

import http.client
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHECK_SECONDS = 0.1
_OF_ONE_CONNECTION = ("connection", "transfer-encoding", "date", "server")


class Balancer:
    """Between the clients and these ports."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ready = dict.fromkeys(ports, True)
        self._turn = itertools.count()
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def check_forever(self) -> None:
        while not self._ended.wait(CHECK_SECONDS):
            for port in self._ready:
                try:
                    status, *_ = ask(port, "GET", "/readyz", b"", {})
                    self._ready[port] = status == 200
                except (OSError, http.client.HTTPException):
                    self._ready[port] = False

    def pass_on(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, dict[str, str]]:
        """The answer of a server; 502 when one breaks the connection, 503 when none is ready."""
        ready = [port for port, is_ready in self._ready.items() if is_ready]
        first = next(self._turn)
        for n in range(len(ready)):
            try:
                return ask(ready[(first + n) % len(ready)], method, path, body, headers)
            except ConnectionRefusedError:
                continue
            except (OSError, http.client.HTTPException) as error:
                return 502, repr(error).encode(), {}
        return 503, b"no server is ready", {}

    def serve(self) -> None:
        self._server.serve_forever(0.05)

    def end(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        balancer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                given = {n: v for n, v in self.headers.items() if n.lower() not in ("connection",)}
                status, answer, headers = balancer.pass_on(self.command, self.path, body, given)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET  # noqa: N815 - its caller's name

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler


def ask(
    port: int, method: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, bytes, dict[str, str]]:
    """One request on a connection of its own; status, body and headers of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        kept = {n: v for n, v in answer.getheaders() if n.lower() not in _OF_ONE_CONNECTION}
        return answer.status, answer.read(), kept
    finally:
        connection.close()


@contextmanager
def balanced(ports: Sequence[int]) -> Iterator[Balancer]:
    """A balancer that runs while the context lasts."""
    made = Balancer(ports)
    threads = [
        threading.Thread(target=run, daemon=True) for run in (made.serve, made.check_forever)
    ]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.end()
        for thread in threads:
            thread.join()
