"""A deployment that breaks a rule: a proxy before a real server, which bends what passes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


@dataclass
class ProxiedRequest:
    """A request on its way; a bend may change it before it is passed on."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def is_to(self, method: str, path: str) -> bool:
        """Whether it is such a request, whatever its query."""
        return self.method == method and self.path.partition("?")[0] == path

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ProxiedResponse:
    """The answer on its way back; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def say(self, body: Any, status: int | None = None) -> None:
        """Put another JSON body, and status, in its place."""
        self.body = json.dumps(body).encode()
        self.status = status or self.status

    def change(self, **fields: Any) -> None:
        self.say({**self.json, **fields})

    def drop(self, field: str) -> None:
        self.say({name: value for name, value in self.json.items() if name != field})

    def become(self, status: int) -> None:
        self.status = status


@dataclass
class Mutation:
    """One rule broken.

    ``before`` may change the request, or answer it without asking the server; ``after`` may change
    the answer; it is not called for answers that ``before`` gave.
    """

    before: Callable[[ProxiedRequest], ProxiedResponse | None] = lambda _: None
    after: Callable[[ProxiedRequest, ProxiedResponse], None] = lambda _, __: None


@dataclass
class Proxy:
    """``url`` is where it listens. ``rewrites``: addresses of the server in its answers become its
    own (in webhooks they cannot)."""

    target: str
    mutation: Mutation
    rewrites: bool = True
    url: str = ""
    answers: int | None = None
    """How many are left until it goes away; None: it stays."""

    def pass_on(self, http: httpx2.Client, request: ProxiedRequest) -> ProxiedResponse:
        if self.answers is not None:
            self.answers -= 1
        ours = self.mutation.before(request)
        if ours is not None:
            return ours
        kept = {name: v for name, v in request.headers.items() if name.lower() not in HOP_BY_HOP}
        kept["accept-encoding"] = "identity"
        answer = http.request(
            request.method, self.target + request.path, content=request.body, headers=kept
        )
        headers = {name.lower(): value for name, value in answer.headers.items()}
        body = answer.content
        if self.rewrites and headers.get("content-type", "").startswith("application/json"):
            body = body.replace(self.target.encode(), self.url.encode())
        response = ProxiedResponse(answer.status_code, headers, body)
        self.mutation.after(request, response)
        return response


@contextmanager
def bent(target: str, mutation: Mutation, *, rewrites: bool = True) -> Iterator[Proxy]:
    """A proxy to ``target`` that listens until the end of the block."""
    proxy = Proxy(target.rstrip("/"), mutation, rewrites)
    http = httpx2.Client(timeout=90, trust_env=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = dict(self.headers.items())
            request = ProxiedRequest(self.command, self.path, headers, self.rfile.read(length))
            try:
                response = proxy.pass_on(http, request)
                if proxy.answers == 0:
                    server.shutdown()
                    server.server_close()
                    self.close_connection = True
            except (httpx2.HTTPError, ConnectionError):
                self.close_connection = True
                return
            empty = response.status in (204, 304)
            self.send_response_only(response.status)
            for name, value in response.headers.items():
                if name not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", "0" if empty else str(len(response.body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if not empty:
                self.wfile.write(response.body)

        do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that hangs up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        http.close()
