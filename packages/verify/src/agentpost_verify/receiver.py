"""A webhook receiver on this machine, which the deployment reaches at an address of its own.

It keeps what it gets, by path, and answers 200; the first attempt at a path named in ``failing`` is
answered with 500, so that a retry can be seen.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

BODY_BYTES_MAX: Final = 16 * 2**20
POLL_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that came in; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str | None:
        """The event's id."""
        return self.headers.get("webhook-id")


@dataclass
class Receiver:
    """``url`` is where the deployment reaches it, without a slash at the end."""

    url: str
    got: list[Attempt] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)

    def at(self, path: str, word: str = "") -> list[Attempt]:
        """What came in at that path so far and names that word in its id or body."""
        attempts = [each for each in list(self.got) if each.path == path]
        return [a for a in attempts if word in f"{a.id} {a.body.decode(errors='replace')}"]

    def await_count(self, path: str, count: int, seconds: float, word: str = "") -> list[Attempt]:
        """What came in there, once there is so much of it or the time is over; what names another
        word prolongs nothing."""
        deadline = time.monotonic() + seconds
        while len(self.at(path, word)) < count and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return self.at(path, word)


@contextmanager
def receiving(port: int, url: str) -> Iterator[Receiver]:
    """Listen on ``port`` of every interface until the block ends; raises `OSError`."""
    prefix = "/" + url.partition("://")[2].partition("/")[2].rstrip("/")
    receiver = Receiver(url.rstrip("/"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            status = 411
            if length.isdigit() and int(length) <= BODY_BYTES_MAX:
                body = self.rfile.read(int(length))
                headers = {name.lower(): value for name, value in self.headers.items()}
                path = self.path.removeprefix(prefix).lstrip("/")
                status = 500 if path in receiver.failing and not receiver.at(path) else 200
                receiver.got.append(Attempt(path, headers, body))
            self.close_connection = self.close_connection or status == 411
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("", port), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
