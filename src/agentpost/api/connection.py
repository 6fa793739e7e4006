"""A connection as long as no handler looks after it: uvicorn's, with a limit on what it lacks.

uvicorn waits for the head of a request without end, keeps headers without number, and after an
answer waits for the rest of a body for ever: each is a way to take a server's memory or files with
hardly any traffic. Bodies that are read have their own limits (`intake`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 30.0
"""From the first byte of a request, or the connection, to the end of its headers."""
HEAD_BYTES_MAX = 64 * 1024

Malformed = Callable[[str], bytes]
"""Makes a whole answer, status line and all, to what is no HTTP; given what is wrong with it."""


class Connection(HttpToolsProtocol):
    """See the module docstring; `guarded` makes it complete."""

    malformed: ClassVar[Malformed]
    _head_bytes = 0
    _in_head = True
    _broken = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._end_of_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._broken or self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport is None or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self.send_400_response(f"the head of the request is over {HEAD_BYTES_MAX} bytes")
        elif self.cycle.response_complete and self.timeout_keep_alive_task is None:
            # The rest of a body that nobody wants: it must not take longer than the next request.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_message_begin(self) -> None:
        """See `HttpToolsProtocol`."""
        super().on_message_begin()
        self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """See `HttpToolsProtocol`; what follows a chunked body is no header of ours."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See `HttpToolsProtocol`."""
        self._end_of_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. A request before it on this connection still gets its answer."""
        self._end_of_head()
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:
                cycle.keep_alive, self._broken = False, True
                return
            if cycle.response_started:
                self.transport.close()
                return
        self.transport.write(type(self).malformed(msg))
        self.transport.close()

    def _await_head(self) -> None:
        self._end_of_head()
        self._in_head, self._head_bytes = True, 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _end_of_head(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def guarded(malformed: Malformed) -> type[Connection]:
    """The protocol to give to uvicorn."""
    return type("Guarded", (Connection,), {"malformed": staticmethod(malformed)})
