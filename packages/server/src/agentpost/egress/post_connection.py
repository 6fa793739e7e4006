"""A connection that webhooks go out on: a request, the status it was answered with, and the
beginning of the answer's body (spec: Webhook events 6).

Receivers are not trusted to keep to HTTP. The status counts as soon as its head is complete,
however the body goes on; a head has an end, and few interim answers (1xx) stand before it.
"""

import asyncio
from http import HTTPStatus
from typing import cast

import httptools

from agentpost.egress.errors import BROKE_OFF, HUNG_UP, NOT_HTTP

_SNIPPET_BYTES = 1_024
_SNIPPET_SECONDS = 1.0
"""The status decides over a delivery; its body is a courtesy that is not waited for long."""
_ANSWER_BYTES_MAX = 65_536
"""Of what is read of an answer, which has its status by then."""
_TLS_REQUEST_BYTES_MAX = 65_536
"""Of a request over TLS after which the connection is kept: nobody can tell how much of a larger
one is still to be sent, since TLS hands all on at once to the connection below."""
INTERIM_ANSWERS_MAX = 8
"""Common servers send none or one ("100 Continue", "103 Early Hints")."""
_VERSIONS = ("1.1", "1.0")


class PostConnection(asyncio.Protocol):
    """Carries one request after the other.

    Attributes:
        status, headers, body: of the answer to the last request; ``status`` is None when it had
            none, and then ``failure`` says why, or is "" when the deadline came first.
        answered: something came since the last request was sent.
        reusable: the request was sent and the answer read to its end, and nothing came behind it.
        idle_since: when it was last given back, by the loop's clock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser: httptools.HttpResponseParser | None = None
        self._transport: asyncio.Transport | None = None
        self._ended: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0  # the timer's time
        self._interim = self._read_bytes = self._request_bytes = 0
        self._is_over = self._is_invalid = self._is_tls = False
        self._early: bytes | None = b""
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.failure = ""
        self.answered = self.reusable = False
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a request may be sent on it."""
        return self._transport is not None and not self._transport.is_closing()

    def exchange(self, request: bytes, seconds: float) -> asyncio.Future[None]:
        """Send a whole request; done when there is an answer, a failure, or ``seconds`` are over.
        Call `abort` when it is not waited for."""
        self.status, self.headers, self.body, self.failure = None, [], b"", ""
        self.answered = self.reusable = self._is_over = self._is_invalid = False
        self._interim = self._read_bytes = 0
        self._request_bytes = len(request)
        end = self._ended = self._loop.create_future()
        if self._transport is not None:
            self._until = self._loop.time() + seconds
            self._timer = self._loop.call_later(seconds, self._end)
            self._transport.write(request)
        early, self._early = self._early, None
        if early:
            self.data_received(early)
        if self._transport is None:  # it was closed before
            self.connection_lost(None)
        return end

    def abort(self) -> None:
        """Close at once; what was not sent yet is dropped."""
        self._end()
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
        """See `asyncio.Protocol`. An answer without a length ends so."""
        self._transport = None
        self._end(BROKE_OFF if self.answered else HUNG_UP)
        if not self._early:
            self._parser = None  # which refers back

    def data_received(self, data: bytes) -> None:
        if self._ended is None or self._parser is None:
            # Before the first request, who refuses everybody may answer; later nothing may come.
            if self._early is not None and len(self._early) <= _ANSWER_BYTES_MAX:
                self._early += data
            else:
                self.abort()
            return
        self.answered = True
        self._read_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.reusable = False
            self._end()  # the answer was 101, which is no success
        except httptools.HttpParserError:
            self.reusable = False
            self._end(NOT_HTTP)
        if self.status is None:
            if self._is_invalid or self._read_bytes > _ANSWER_BYTES_MAX:
                self._end(NOT_HTTP)
        elif (
            self._is_over
            or len(self.body) >= _SNIPPET_BYTES
            or self._read_bytes > _ANSWER_BYTES_MAX
        ):
            self._end()
        elif self._ended is not None:
            # From the first look at the body on, it has a moment of its own.
            soon = self._loop.time() + _SNIPPET_SECONDS
            if self._timer is not None and self._until > soon:
                self._timer.cancel()
                self._until = soon
                self._timer = self._loop.call_later(_SNIPPET_SECONDS, self._end)

    # --- what the parser calls --------------------------------------------------------------------
    def on_message_begin(self) -> None:
        """Another head: behind interim answers, or where nothing was asked for."""
        if self._is_over:
            self.reusable = False
        elif self.status is None:
            self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line of a head, or of what follows a body in chunks."""
        if self.status is None:
            self.headers.append((name, value))
            self._is_invalid = self._is_invalid or b"\0" in value

    def on_headers_complete(self) -> None:
        """The end of a head."""
        if self.status is not None or self._parser is None or self._is_invalid:
            return
        code = self._parser.get_status_code()
        if 100 <= code <= 199 and code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._interim += 1
            self._is_invalid = self._interim > INTERIM_ANSWERS_MAX
        elif code >= 100 and self._parser.get_http_version() in _VERSIONS:
            self.status = code
        else:
            self._is_invalid = True

    def on_body(self, data: bytes) -> None:
        """A part of a body."""
        if not self._is_over and len(self.body) < _SNIPPET_BYTES:
            self.body += data[: _SNIPPET_BYTES - len(self.body)]

    def on_message_complete(self) -> None:
        """The end of an answer, or of an interim one."""
        if self.status is not None and not self._is_over and self._parser is not None:
            self._is_over = True
            self.reusable = self._parser.should_keep_alive() and self._is_sent()

    def _is_sent(self) -> bool:
        if self._is_tls and self._request_bytes > _TLS_REQUEST_BYTES_MAX:
            return False
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    # --- the end ----------------------------------------------------------------------------------

    def _end(self, failure: str = "") -> None:
        """Tell whoever waits, once. A failure counts only for an answer that has no status."""
        end, self._ended = self._ended, None
        if end is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.status is None:
            self.failure = failure
        if not end.done():  # cancelled
            end.set_result(None)
