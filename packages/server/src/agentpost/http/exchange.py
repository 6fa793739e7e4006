"""A request and its response on a connection: what uvicorn leaves out for HTTP/1.0, and for a
client that sends no more."""

import re
from collections.abc import Callable, Iterable
from typing import cast

from starlette.responses import Response
from uvicorn._types import ASGISendEvent, HTTPResponseStartEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from agentpost.http import event_stream

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THE_CONNECTION = (b"connection", b"transfer-encoding")
_BODILESS = (204, 304)


def raw_answer(response: Response, more_headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """A plain response as HTTP/1.1."""
    lines = [b"%b: %b\r\n" % header for header in (*more_headers, *response.raw_headers)]
    head = b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n"))
    return head + bytes(response.body)


class Exchange(RequestResponseCycle):
    """uvicorn's cycle, which calls the application and writes what it sends: the `Peer` of its
    request."""

    watch: Callable[[Callable[[], None]], None]
    """See `Peer.watch`; set by the connection."""
    is_http_1_0: bool
    """Whether the client speaks HTTP/1.0: it knows neither chunks nor interim responses. Set by the
    connection."""
    _is_event_stream = False
    _ends_with_connection = False

    def abort(self) -> None:
        """See `http.request_state.Peer.abort`."""
        self.disconnected = True  # else uvicorn logs that the response is not complete
        self.transport.abort()

    def answer(self, response: Response) -> bool:
        """See `http.request_state.Peer.answer`."""
        if type(response) is not Response or response.background is not None:
            return False
        head = [STATUS_LINE[response.status_code]]
        if self.disconnected:
            return True
        if self.flow.write_paused or not self.keep_alive:
            return False
        if self.scope["method"] == "HEAD" or self.is_http_1_0:
            return False
        values = []
        length = -1
        for name, value in (*self.default_headers, *response.raw_headers):
            if name == b"content-length":
                length = int(value)
            elif name in _OF_THE_CONNECTION:
                return False
            values.append(value)
            head.append(b"%b: %b\r\n" % (name, value))
        body = bytes(response.body)
        if length != len(body) or _CONTROL.search(b"".join(values)):
            return False
        self.transport.write(b"%b\r\n%b" % (b"".join(head), body))
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        self.on_response()
        return True

    async def send(self, message: ASGISendEvent) -> None:
        """See ASGI. An HTTP/1.0 body of unknown length ends with its connection (RFC 9112, 6.3)."""
        if message["type"] == "http.response.start":
            message = self._begin(message)
        elif self._ends_with_connection and message["type"] == "http.response.body":
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)

    def _begin(self, start: HTTPResponseStartEvent) -> HTTPResponseStartEvent:
        headers = dict([*self.default_headers, *start.get("headers", [])])
        media_type = headers.get(b"content-type", b"")
        self._is_event_stream = media_type.startswith(event_stream.MEDIA_TYPE.encode())
        if not self.is_http_1_0:
            return start
        has_body = self.scope["method"] != "HEAD" and start["status"] not in _BODILESS
        if has_body and b"content-length" not in headers:
            self._ends_with_connection = True
            self.chunked_encoding = self.keep_alive = False
        if not self.keep_alive or b"connection" in headers:
            return start
        keep_alive = (b"connection", b"keep-alive")  # RFC 9112, 9.3
        start_headers = [*start.get("headers", []), keep_alive]
        return cast("HTTPResponseStartEvent", {**start, "headers": start_headers})

    def probe(self) -> bool:
        """Write something that the client skips, unless it has not taken all that was written
        before. False: nothing can be written before the answer."""
        if self.response_complete or self.flow.write_paused:
            return True
        if not self.response_started:
            if self.is_http_1_0:
                return False
            self.transport.write(_CONTINUE)
        elif self._is_event_stream:
            size = b"" if self._ends_with_connection else b"%x\r\n" % len(event_stream.KEEP_ALIVE)
            end = b"" if self._ends_with_connection else b"\r\n"
            self.transport.write(size + event_stream.KEEP_ALIVE + end)
        return True
