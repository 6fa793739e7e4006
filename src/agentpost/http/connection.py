"""One connection of the socket: the checks between bytes and a request that uvicorn leaves to us.

- Bytes that are no request get the shape of all errors, and can be read (spec: Errors).
- A head is bounded in size and time, so strangers hold neither memory nor sockets.
- An offer to speak another protocol is ignored. The parser takes the body of such a request for
  the other protocol already: it would be lost, or read as the next request.
- Trailers are not headers: who calls is said before the body, or not at all.
- A request names one host, in a version of HTTP that we speak (RFC 9112, 2.3 and 3.2).
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import httptools
import structlog
from starlette.responses import Response
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from agentpost.http.connections import Connections
from agentpost.http.light import LightEvent, LightFlow
from agentpost.http.request_state import PEER

if TYPE_CHECKING:
    from agentpost.http.application import Application

log = structlog.get_logger(__name__)

_HEAD_BYTES_MAX = 16 * 1024
"""Of the request line with the headers, and of trailers. Reading them costs time before anybody
knows who asks, so they are no longer than a client of today can need."""
HEAD_SECONDS_MAX = 30.0
"""For a whole head, or the rest of a body nobody reads, to arrive while nothing is answered."""
_LINGER_SECONDS = 1.0
"""How long what a refused client still sends is thrown away. Closing at once resets the connection,
and the client loses the answer."""
_HEADERS_MAX = 100
"""Of one request: each costs a call, and is looked at again and again."""
_PARAMETERS_MAX = 100
"""Of a query."""
PIPELINED_MAX = 64
"""Requests of one connection that wait for the answer to another. Parsing cannot be stopped within
what was read from the socket, so without a limit thousands would be begun at once."""
_HEAD_TOO_LONG = f"The request's head is over {_HEAD_BYTES_MAX:,} bytes."
_OFFERS = (b"upgrade", b"http2-settings")
_VERSIONS = ("1.1", "1.0")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THE_CONNECTION = (b"connection", b"transfer-encoding")
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+;=:%\[\]-]*")


_NOTHING_WAITS: deque[Any] = cast("deque[Any]", ())
"""What waits on most connections: of a queue for it, each would have 760 bytes."""


class _NoRequest(Exception):
    """A callback of the parser: what was parsed is nothing we answer; the text says why."""


class _Peer:
    """See `http.request_state.Peer`."""

    __slots__ = ("_connection", "_cycle")

    def __init__(self, connection: Connection, cycle: RequestResponseCycle) -> None:
        self._connection = connection
        self._cycle = cycle

    @property
    def has_sent_all(self) -> bool:
        return not self._cycle.more_body

    def watch(self, hung_up: Callable[[], None]) -> None:
        self._connection.watch(hung_up)

    def answer(self, response: Response) -> bool:
        cycle, head = self._cycle, [STATUS_LINE[response.status_code]]
        if cycle.disconnected:
            return True
        if cycle.flow.write_paused or not cycle.keep_alive or cycle.scope["method"] == "HEAD":
            return False
        values = []
        length = -1
        for name, value in (*cycle.default_headers, *response.raw_headers):
            if name == b"content-length":
                length = int(value)
            elif name in _OF_THE_CONNECTION:
                return False
            values.append(value)
            head.append(b"%b: %b\r\n" % (name, value))
        body = bytes(response.body)
        if length != len(body) or _CONTROL.search(b"".join(values)):
            return False
        cycle.transport.write(b"%b\r\n%b" % (b"".join(head), body))
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        cycle.on_response()
        return True

    def abort(self) -> None:
        self._cycle.disconnected = True  # else uvicorn logs that the response is not complete
        self._connection.transport.abort()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol for an `Application`, to be given as ``http`` to its Config.

    ``connections``: those it is one of. The slots are uvicorn's attributes and ours: with so many,
    a dictionary for them is over 1.5 KiB.
    """

    parser: Any
    __slots__ = (
        *("access_log", "access_logger", "app", "app_state", "asgi_version", "client", "config"),
        *("connections", "cycle", "expect_100_continue", "flow", "headers", "limit_concurrency"),
        *("logger", "loop", "parser", "pipeline", "root_path", "scheme", "scope", "server"),
        *("server_state", "tasks", "timeout_keep_alive", "timeout_keep_alive_task", "transport"),
        *("url", "ws_protocol_class", "_all", "_answerer", "_arriving", "_before"),
        *("_bytes_outside_bodies", "_head_timer", "_lost", "_piece_bytes", "_problem", "_refused"),
        "_watching",
    )

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections
        self._problem: str | None = None
        self._answerer = cast("Application", config.app)
        self._bytes_outside_bodies = 0
        self._piece_bytes = 0
        self._refused = False
        self._arriving = True
        self._before: RequestResponseCycle | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._lost = False
        self._watching: tuple[Callable[[], None], ...] = ()
        self.pipeline = _NOTHING_WAITS

    # --- bytes ------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = LightFlow(transport)
        self._watch_the_head()
        self._all.opened(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch_the_head()
        self._all.closed(self)
        super().connection_lost(exc)
        self._lost = True
        for hung_up in self._watching:
            hung_up()

    def watch(self, hung_up: Callable[[], None]) -> None:
        """See `Peer.watch`."""
        self._watching = (*self._watching, hung_up)
        if self._lost:
            hung_up()
            return
        self.flow.resume_reading()  # a request behind this one may have paused it
        if not self._arriving:  # nothing of a next request was parsed: it may begin with a new one
            self.parser = None

    def end_with_answer(self) -> None:
        """What is being answered gets the server's headers of now, which say that the connection
        ends."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.default_headers = self.server_state.default_headers

    def make_room(self) -> None:
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self.parser is None:
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._unset_keepalive_if_required()
        self._piece_bytes = len(data)
        self._bytes_outside_bodies += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response(self._problem or "These bytes are no HTTP request.")
            return
        if self._bytes_outside_bodies > _HEAD_BYTES_MAX:
            self.send_400_response(_HEAD_TOO_LONG)
        elif self.cycle is not None and not self.cycle.response_complete:
            self._unwatch_the_head()
        elif self._arriving:
            self._watch_the_head()
        else:  # the end of a body that was answered before: from now on the connection is idle
            self._unwatch_the_head()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _feed(self, data: bytes) -> None:
        """Parse it; a request with an offer begins anew without it, as often as there is one."""
        left = memoryview(data)
        while True:
            try:
                self.parser.feed_data(left)
                return
            except httptools.HttpParserUpgrade as upgrade:
                head = self._head_without_offers()
                self.parser = httptools.HttpRequestParser(self)
                self.parser.feed_data(head)
                left = left[upgrade.args[0] :]

    def _head_without_offers(self) -> bytes:
        """The request as it would be had nothing been offered."""
        version = self.parser.get_http_version()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version.encode())]
        lines += [b"%s: %s" % header for header in self.headers if header[0] not in _OFFERS]
        return b"\r\n".join((*lines, b"", b""))

    # --- what the parser finds --------------------------------------------------------------------
    def on_message_begin(self) -> None:
        self._arriving = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # As uvicorn does it, without a call to there: this is the most frequent callback of all.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))
        if len(self.headers) > _HEADERS_MAX:
            self._problem = f"A request has up to {_HEADERS_MAX} headers."
            raise _NoRequest(self._problem)

    def on_headers_complete(self) -> None:
        came = max(self._bytes_outside_bodies, self._piece_bytes)
        self._bytes_outside_bodies = 0
        self._problem = self._what_is_wrong(came)
        if self._problem is not None:
            raise _NoRequest(self._problem)
        if self.parser.should_upgrade():
            return  # begins anew in `_feed`
        self._before = self.cycle
        if self.cycle is not None and not self.cycle.response_complete and not self.pipeline:
            self.pipeline = deque()
        super().on_headers_complete()
        self.cycle.message_event = LightEvent()  # its task has not begun yet
        self.scope[PEER] = _Peer(self, self.cycle)  # type: ignore[literal-required]
        self._all.busy(self)
        self.headers = []  # the scope keeps the list it has: trailers go into this one

    def _what_is_wrong(self, came: int) -> str | None:
        """Why a head that could be parsed is no request all the same. It was in the ``came`` bytes
        that came last, not always alone."""
        hosts = [value for name, value in self.headers if name == b"host"]
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            return "Send the request as HTTP/1.1."
        if len(hosts) > 1 or (version == "1.1" and not hosts):
            return "A request has exactly one Host header."
        if hosts and not _HOST.fullmatch(hosts[0]):
            return "The Host header is not a host."
        if self.url.count(b"&") >= _PARAMETERS_MAX:
            return f"A query has up to {_PARAMETERS_MAX} parameters."
        if came > _HEAD_BYTES_MAX and self._head_bytes() > _HEAD_BYTES_MAX:
            return _HEAD_TOO_LONG  # it came in one piece
        if len(self.pipeline) >= PIPELINED_MAX:
            return f"Up to {PIPELINED_MAX} requests of a connection may wait for their answers."
        if self.parser.get_method() == b"CONNECT":
            return "This server is no proxy."
        return None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def on_response_complete(self) -> None:
        self._watching = ()
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:
            self._all.idle(self)

    def on_body(self, body: bytes) -> None:
        self._bytes_outside_bodies = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            self._arriving, self._before = False, None
            super().on_message_complete()

    # --- refusing ---------------------------------------------------------------------------------
    def send_400_response(self, msg: str) -> None:
        """Refuse the connection, saying why. A request before it that came whole still gets its
        answer, and the connection ends with that."""
        self._refused = True
        self._unwatch_the_head()
        last: RequestResponseCycle | None = self.cycle
        if last is not None and last.more_body and self.pipeline and self.pipeline[0][0] is last:
            self.pipeline.popleft()  # broken before its turn has come
            last = self._before
        if last is not None and not last.response_complete:
            if not last.more_body:
                last.keep_alive = False
                return
            last.disconnected = True
            last.message_event.set()
            if last.response_started:  # nothing can be put into it
                self.transport.close()
                return
        response = self._answerer.no_request(msg)
        headers = [*self.server_state.default_headers, *response.raw_headers]
        lines = [b"%s: %s\r\n" % header for header in headers]
        status = STATUS_LINE[response.status_code]
        self.transport.write(b"".join((status, *lines, b"\r\n", bytes(response.body))))
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _watch_the_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS_MAX, self.transport.close)

    def _unwatch_the_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
