"""One connection of the socket: the checks between bytes and a request that uvicorn leaves to us.

- Bytes that are no request get the shape of all errors, and can be read (spec: Errors).
- A head is bounded in size and time, so strangers hold neither memory nor sockets.
- An offer to speak another protocol is ignored. The parser takes the body of such a request for
  the other protocol already: it would be lost, or read as the next request.
- Trailers are not headers: who calls is said before the body, or not at all.
- A client that sends no more still gets its answers (design: A client that sends no more).
- A request names one host, in a version of HTTP that we speak (RFC 9112, 2.3 and 3.2).
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import unquote

import httptools
import structlog
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from agentpost.http.connections import Connections
from agentpost.http.exchange import Exchange, raw_answer
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
_FIRST_LOOK_SECONDS = 0.05
_LOOK_SECONDS_MAX = 0.3
"""Between two looks whether a client that sends no more is there: each pause is twice the one
before, up to this. A client that is gone is noticed at the second look after that."""
_ENDED_EARLY = "The client ended its side before the request was whole."
_OFFERS = (b"upgrade", b"http2-settings")
_VERSIONS = ("1.1", "1.0")
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+;=:%\[\]-]*")


_NOTHING_WAITS: deque[Any] = cast("deque[Any]", ())
"""What waits on most connections: of a queue for it, each would have 760 bytes."""


class _NoRequest(Exception):
    """A callback of the parser: what was parsed is nothing we answer; the text says why."""


class LightEvent(asyncio.Event):
    """An event that takes next to nothing until somebody has to wait for it. Not set at first.

    Ten thousand connections may wait for an answer, and an `asyncio.Event` is three quarters of a
    KiB."""

    __slots__ = ("_awaited", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._awaited: asyncio.Event | None = None

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        if self._awaited is not None:
            self._awaited.set()

    def clear(self) -> None:
        self._is_set = False
        if self._awaited is not None:
            self._awaited.clear()

    async def wait(self) -> Literal[True]:
        if self._is_set:
            return True
        if self._awaited is None:
            self._awaited = asyncio.Event()
        return await self._awaited.wait()


class LightFlow(FlowControl):
    """uvicorn's flow control."""

    __slots__ = ("_is_writable_event", "_transport", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        self._is_writable_event = LightEvent()
        self._is_writable_event.set()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol for an `Application`, to be given as ``http`` to its Config.
    ``connections``: those it is one of. The slots are uvicorn's attributes and ours: with so many,
    a dictionary for them is over 1.5 KiB."""

    parser: Any
    cycle: Exchange
    __slots__ = (
        *("access_log", "access_logger", "app", "app_state", "asgi_version", "client", "config"),
        *("connections", "cycle", "expect_100_continue", "flow", "headers", "limit_concurrency"),
        *("logger", "loop", "parser", "pipeline", "root_path", "scheme", "scope", "server"),
        *("server_state", "tasks", "timeout_keep_alive", "timeout_keep_alive_task", "transport"),
        *("url", "ws_protocol_class", "_all", "_answerer", "_arriving", "_before"),
        *("_bytes_outside_bodies", "_current", "_lost", "_piece_bytes", "_problem", "_refused"),
        *("_timer", "_watching"),
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
        self._before: Exchange | None = None
        self._current: Exchange | None = None  # the others are in the pipeline, `cycle` last
        self._timer: asyncio.TimerHandle | None = None  # for a head, later for the next look
        self._lost = False
        self._watching: tuple[Callable[[], None], ...] = ()
        self.pipeline = _NOTHING_WAITS

    # --- bytes ------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = LightFlow(transport)
        self._watch_the_head()
        self._all.add(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch_the_head()
        self._all.remove(self)
        super().connection_lost(exc)
        self._lost = True
        for hung_up in self._watching:
            hung_up()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more. True: it is to be answered first."""
        is_within = self._arriving and self.scope is not None
        was_answered = self.cycle and self.cycle.more_body and self.cycle.response_complete
        if is_within and not was_answered and not self._refused:
            self._refuse(_ENDED_EARLY)
        # Close the connection with the last answer that is owed; whether one is.
        last = self.cycle
        if last is None or last.response_complete or last.disconnected:
            return False
        last.keep_alive = False
        self._unwatch_the_head()
        self._timer = self.loop.call_later(_FIRST_LOOK_SECONDS, self._look, _FIRST_LOOK_SECONDS)
        return True

    def _look(self, pause: float) -> None:
        """Find out whether a client that sends no more is there, and again after twice the pause.

        What is written to one that is gone is answered by its system with a reset, and the next
        write loses the connection. A call that nothing can be written to ends its wait."""
        if self.transport.is_closing() or self._current is None:
            return
        if not self._current.probe():
            for hung_up in self._watching:
                hung_up()
        pause = min(2 * pause, _LOOK_SECONDS_MAX)
        self._timer = self.loop.call_later(pause, self._look, pause)

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
            self._refuse(self._problem or "These bytes are no HTTP request.")
            return
        if self._bytes_outside_bodies > _HEAD_BYTES_MAX:
            self._refuse(_HEAD_TOO_LONG)
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
                # The request as it would be had nothing been offered.
                version = self.parser.get_http_version()
                lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version.encode())]
                lines += [b"%s: %s" % header for header in self.headers if header[0] not in _OFFERS]
                head = b"\r\n".join((*lines, b"", b""))
                self.parser = httptools.HttpRequestParser(self)
                self.parser.feed_data(head)
                left = left[upgrade.args[0] :]

    # --- what the parser finds --------------------------------------------------------------------
    def on_message_begin(self) -> None:
        self._arriving = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
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
        self.cycle = self._exchange()
        self._all.busy(self)
        self.headers = []  # the scope keeps the list it has: trailers go into this one
        if self._before is None or self._before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
            return
        if not self.pipeline:
            self.pipeline = deque()
        self.flow.pause_reading()
        self.pipeline.appendleft((self.cycle, self.app))

    def _exchange(self) -> Exchange:
        """The request whose head was parsed, with what answers it."""
        target, scope = httptools.parse_url(self.url), self.scope
        path = target.path or b"/"  # "GET http://example.com" has none (RFC 9112, 3.2.2)
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["http_version"] = self.parser.get_http_version()
        scope["path"] = unquote(path.decode("ascii")) if b"%" in path else path.decode("ascii")
        scope["raw_path"] = path
        scope["query_string"] = target.query or b""
        # HTTP/1.0 has no chunks: who sends some may mean another end of the body than we do.
        is_chunked = any(name == b"transfer-encoding" for name, _ in self.headers)
        is_old = scope["http_version"] == "1.0"
        exchange = Exchange(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=LightEvent(),
            expect_100_continue=self.expect_100_continue and scope["http_version"] == "1.1",
            keep_alive=self.parser.should_keep_alive() and not (is_chunked and is_old),
            on_response=self.on_response_complete,
        )
        exchange.watch, exchange.is_http_1_0 = self.watch, is_old
        scope[PEER] = exchange  # type: ignore[literal-required]
        return exchange

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._current = cycle
        super()._start_asgi_task(cycle, app)

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
    def _refuse(self, problem: str) -> None:
        """Refuse the connection, saying why. A request before it that came whole still gets its
        answer, and the connection ends with that."""
        self._refused = True
        self._unwatch_the_head()
        last: Exchange | None = self.cycle
        if last is not None and last.more_body and self.pipeline and self.pipeline[0][0] is last:
            self.pipeline.popleft()  # broken before its turn has come
            last = self.cycle = self._before  # type: ignore[assignment]
        if last is not None and not last.response_complete:
            if not last.more_body:
                last.keep_alive = False
                return
            last.disconnected = True
            last.message_event.set()
            if last.response_started:  # nothing can be put into it
                self.transport.close()
                return
        response = self._answerer.no_request(problem)
        if problem != _ENDED_EARLY:  # most of those are only gone
            request_id = response.headers.get("request-id")
            log.warning("invalid_http", request_id=request_id, problem=problem)
        self.transport.write(raw_answer(response, self.server_state.default_headers))
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _watch_the_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS_MAX, self.transport.close)

    def _unwatch_the_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
