"""A connection of the way out: a request, the head of its answer, and the body as it comes.

Other sides are not trusted to keep to HTTP. A head has an end, and few interim answers (1xx) stand
before it; the status counts as soon as its head is complete, however the body goes on (spec:
Webhook events 6). Nobody is read faster than what came is taken.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import cast

import httptools

from agentpost.egress.errors import BROKE_OFF, HUNG_UP, NOT_HTTP, FetchFailed

_BUFFER_BYTES = 65_536
"""So much of a body waits to be taken before no more is read."""
_BARREN_BYTES_MAX = 65_536
"""May come without a piece of a body among them: of a head, or behind a body in chunks. The parser
keeps what it has of a line, and copies it with each piece that comes."""
_TLS_REQUEST_BYTES_MAX = 65_536
"""Of a request over TLS after which the connection is kept: nobody can tell how much of a larger
one is still to be sent, since TLS hands all on at once to the connection below."""
_INTERIM_ANSWERS_MAX = 8
"""Common servers send none or one ("100 Continue", "103 Early Hints")."""
_VERSIONS = ("1.1", "1.0")


class Connection(asyncio.Protocol):
    """Carries one request after the other.

    Attributes:
        status, headers: of the answer to the last request; ``status`` is 0 before its head.
        failure: why there is no answer, or no more of its body; "" while all is well.
        reusable: the request was sent and the answer read to its end, and nothing came behind it.
        idle_since: when it was last given back, by the loop's clock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser: httptools.HttpResponseParser | None = None
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._body = bytearray()
        self._interim = self._barren_bytes = self._request_bytes = 0
        self._is_over = True  # no answer is to come
        self._answered = self._is_invalid = self._is_tls = self._is_paused = False
        self._early: bytes | None = b""
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.failure = ""
        self.reusable = False
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a request may be sent on it."""
        return self._transport is not None and not self._transport.is_closing()

    async def send(self, request: bytes, until: float) -> None:
        """Send a whole request and wait for the head of its answer; raises `FetchFailed`, and
        `TimeoutError` when it is not there by then (the loop's clock, which may be infinite)."""
        self.status, self.headers, self.failure = 0, [], ""
        self._answered = self.reusable = self._is_over = self._is_invalid = False
        self._interim = self._barren_bytes = 0
        self._body.clear()
        self._request_bytes = len(request)
        if self._transport is not None:
            self._transport.write(request)
        early, self._early = self._early, None
        if early:
            self.data_received(early)
        if self._transport is None:  # it was closed before
            self.connection_lost(None)
        while not self.status:
            if self.failure:
                raise FetchFailed(self.failure)
            if self._loop.time() >= until:
                raise TimeoutError
            await self._next(until)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises `FetchFailed` when it breaks off."""
        while self._body or not self._is_over:
            if self._body:
                piece = bytes(self._body)
                self._body.clear()
                if self._is_paused and self._transport is not None:
                    self._is_paused = False
                    self._transport.resume_reading()
                yield piece
            elif self.failure:
                raise FetchFailed(BROKE_OFF)
            else:
                await self._next(math.inf)

    async def beginning(self, bytes_max: int, until: float) -> bytes:
        """What has come of the body by then (the loop's clock), cut; for an answer whose rest is
        not wanted."""
        while not (self._is_over or self.failure or len(self._body) >= bytes_max):
            if self._loop.time() >= until:
                break
            await self._next(until)
        return bytes(self._body[:bytes_max])

    def header(self, name: bytes) -> str | None:
        """The first value of a header, by its name in lower case."""
        values = (value for each, value in self.headers if each.lower() == name)
        value = next(values, None)
        return None if value is None else value.decode(errors="surrogateescape")

    def abort(self) -> None:
        """Close at once; what was not sent yet is dropped."""
        if self._transport is not None:
            self._transport.abort()

    # --- what the transport calls -----------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._is_tls = transport.get_extra_info("ssl_object") is not None
        self._parser = httptools.HttpResponseParser(self)
        # What receivers get wrong, such as lines that end with a bare line feed. Nothing else
        # comes on the connection that could be taken for a second answer.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`. A body without a length ends so."""
        self._transport = None
        if self.status and not self._has_length():
            self._is_over = True
        self._fail(BROKE_OFF if self._answered else HUNG_UP)
        if not self._early:
            self._parser = None  # which refers back

    def data_received(self, data: bytes) -> None:
        if self._is_over or self._parser is None:
            # Before the first request, who refuses everybody may answer; later nothing may come.
            if self._early is not None and len(self._early) <= _BUFFER_BYTES:
                self._early += data
            else:
                self.abort()
            return
        self._answered = True
        self._barren_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_over = self.status > 0  # it is 101, and has no body
            self.reusable = False
        except httptools.HttpParserError:
            self._fail(NOT_HTTP)
            self.reusable = False
        if self._is_invalid or self._barren_bytes >= _BARREN_BYTES_MAX:
            self._fail(NOT_HTTP)
        if len(self._body) >= _BUFFER_BYTES and not self._is_over and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    # --- what the parser calls --------------------------------------------------------------------
    def on_message_begin(self) -> None:
        """Another head: behind interim answers, or where nothing was asked for."""
        if self._is_over:
            self.reusable = False
        elif not self.status:
            self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line of a head, or of what follows a body in chunks."""
        if not self.status:
            self.headers.append((name, value))
            self._is_invalid = self._is_invalid or b"\0" in value

    def on_headers_complete(self) -> None:
        """The end of a head."""
        if self.status or self._parser is None or self._is_invalid:
            return
        code = self._parser.get_status_code()
        if 100 <= code <= 199 and code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._interim += 1
            self._is_invalid = self._interim > _INTERIM_ANSWERS_MAX
        elif code >= 100 and self._parser.get_http_version() in _VERSIONS:
            self.status = code
        else:
            self._is_invalid = True

    def on_body(self, data: bytes) -> None:
        """A part of a body."""
        if not self._is_over:
            self._barren_bytes = 0
            self._body += data

    def on_message_complete(self) -> None:
        """The end of an answer, or of an interim one."""
        if self.status and not self._is_over and self._parser is not None:
            self._is_over = True
            self.reusable = self._parser.should_keep_alive() and self._is_sent()

    # --- parts ------------------------------------------------------------------------------------
    def _has_length(self) -> bool:
        """Whether the body says where it ends. One in chunks does; servers of old also name an
        "identity", which is none."""
        fields = [(name.lower(), value.lower()) for name, value in self.headers]
        return any(
            name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value)
            for name, value in fields
        )

    def _is_sent(self) -> bool:
        if self._is_tls and self._request_bytes > _TLS_REQUEST_BYTES_MAX:
            return False
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    def _fail(self, failure: str) -> None:
        """The answer ends here, unless it had ended before."""
        if not self._is_over:
            self.failure = self.failure or failure
        self._wake()

    async def _next(self, until: float) -> None:
        """Wait until something has changed, or until then. Not by `asyncio.timeout`, which takes
        longer than all else here."""
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_at(until, self._wake) if until < math.inf else None
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():  # else it was cancelled
            waiter.set_result(None)
