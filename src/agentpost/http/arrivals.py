"""Turn new connections away while more come than can be served (design: More than can be served).

Reading a request, finding its key and refusing it then takes several times as long as answering the
first bytes with 503, and what has waited to be accepted for seconds is of no use to its client. So
this is decided when a connection is accepted. Connections that are open already are not concerned,
nor is anything that is held on them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

import structlog
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from agentpost.clock import Clock, new_id
from agentpost.domain import ids
from agentpost.domain.times import MINUTE, seconds

if TYPE_CHECKING:
    from agentpost.http.connection import Connection

log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 5.0
"""For the first bytes of a connection that is turned away."""
OPEN_MAX: Final = 64
"""Open at once, besides all other connections: each is an open file."""
LINGER_SECONDS: Final = 1.0
"""How long the rest of its request is thrown away: closing at once could cost it the answer."""
_PROBES: Final = (b"GET /healthz ", b"GET /readyz ", b"HEAD /healthz ", b"HEAD /readyz ")
"""What is answered all the same: whoever asks so restarts a server that does not answer."""
BURST_SECONDS: Final = 3.0
"""How long more may wait than should before any is turned away: what came in a burst, or while the
server stood still, can be served. For as long they must have been fewer until the next burst is."""
_FULL_SHARE: Final = 0.75
"""Of the kernel's queue: what does not fit into it is never answered."""
_RETRY_SECONDS: Final = 1
_SPREAD_SECONDS: Final = 3
_LISTENING: Final = 10
"""TCP_LISTEN. For such a socket the kernel says how many wait to be accepted, and the most."""
_TCP_INFO: Final = struct.Struct("=B23xII")


def waiting(listening: socket.socket) -> tuple[int, int] | None:
    """How many connections wait to be accepted, and how many can; None where the system does not
    say so."""
    if sys.platform != "linux":
        return None
    try:
        info = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    except OSError:  # a sandbox with a network of its own
        return None
    if len(info) < _TCP_INFO.size:
        return None
    state, now, most = _TCP_INFO.unpack(info)
    return (now, most) if state == _LISTENING else None


class _Crowd:
    """Whether more wait than should, for longer than a burst takes."""

    def __init__(self) -> None:
        self._stays = False
        self._changing_since: int | None = None
        self._looked_at = 0

    def stays(self, is_there: bool, now: int) -> bool:
        """Whether it is there and has been for long, given that it is there now."""
        if now - self._looked_at > seconds(BURST_SECONDS):
            self._stays, self._changing_since = False, None
        self._looked_at = now
        if is_there == self._stays:
            self._changing_since = None
            return is_there
        if self._changing_since is None:
            self._changing_since = now
        if now - self._changing_since >= seconds(BURST_SECONDS):
            self._stays, self._changing_since = is_there, None
        return self._stays and is_there


class Arrivals:
    """Decides about each connection that is accepted.

    Args:
        listening: where they come from.
        most: how many may wait there for longer than `BURST_SECONDS`.
        is_full: whether nothing more can be taken in, whoever it is from; asked
            for each connection.
        no_room: the answer to one that is turned away, given the seconds after which its client may
            come back, and the id of the request.
        count: called for each that is turned away.
    """

    def __init__(
        self,
        listening: socket.socket,
        most: int,
        *,
        is_full: Callable[[], bool],
        no_room: Callable[[int, str], Response],
        count: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._listening = listening
        self._most = most
        self._is_full = is_full
        self._no_room = no_room
        self._answers: dict[int, bytes] = {}
        self._any_id = new_id(ids.REQUEST, clock.now())  # in these answers; all are as long
        self._count = count
        self._clock = clock
        self._crowd = _Crowd()
        self._open: dict[TurnedAway, None] = {}  # longest first
        self._refused = 0
        self._reported_at: int | None = None

    def refuses(self) -> bool:
        """Whether the connection that was accepted just now is turned away."""
        if self._is_full():
            return True
        queue = waiting(self._listening)
        if queue is None:
            return False
        is_crowded = queue[0] > min(self._most, queue[1] * _FULL_SHARE)
        return self._crowd.stays(is_crowded, self._clock.passed())

    def opened(self, connection: TurnedAway) -> None:
        """One that is turned away; one too many closes the one that is open longest."""
        self._open[connection] = None
        if len(self._open) > OPEN_MAX:
            oldest = next(iter(self._open))
            self.closed(oldest)
            oldest.end()

    def closed(self, connection: TurnedAway) -> None:
        """It is gone, or let in after all."""
        self._open.pop(connection, None)

    def turn_away(self) -> bytes:
        """The answer for one that is. It says after how many seconds its client may come back; they
        differ, or all would come at once."""
        self._count()
        self._refused += 1
        now = self._clock.passed()
        if self._reported_at is None or now - self._reported_at >= MINUTE:
            queue = waiting(self._listening)
            log.warning("connections_refused", waiting=queue and queue[0], refused=self._refused)
            self._reported_at, self._refused = now, 0
        seconds = _RETRY_SECONDS + int(self._clock.chance() * _SPREAD_SECONDS)
        answer = self._answers.get(seconds)
        if answer is None:  # making one takes as long as all else
            answer = self._answers[seconds] = _bytes(self._no_room(seconds, self._any_id))
        request_id = new_id(ids.REQUEST, self._clock.now())
        return answer.replace(self._any_id.encode(), request_id.encode())


class TurnedAway(asyncio.Protocol):
    """A connection whose first request is answered with 503 and not read. One that asks whether the
    server lives is given to the protocol that ``admit`` makes."""

    def __init__(self, arrivals: Arrivals, admit: Callable[[], Connection]) -> None:
        self._arrivals = arrivals
        self._admit = admit
        self._answered = False
        self._transport: asyncio.Transport
        self._ending: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        loop = asyncio.get_running_loop()
        self._ending = loop.call_later(PATIENCE_SECONDS, transport.close)
        self._arrivals.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending.cancel()
        self._arrivals.closed(self)

    def end(self) -> None:
        """Close it: others need its place."""
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._answered:
            return
        self._ending.cancel()
        if data.startswith(_PROBES):
            self._arrivals.closed(self)
            admitted = self._admit()
            self._transport.set_protocol(admitted)
            admitted.connection_made(self._transport)
            admitted.data_received(data)
            return
        self._answered = True
        self._transport.write(self._arrivals.turn_away())
        if _is_whole(data):
            self._transport.close()
        else:
            self._transport.write_eof()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(LINGER_SECONDS, self._transport.close)


def _bytes(response: Response) -> bytes:
    lines = [b"%b: %b\r\n" % header for header in response.raw_headers]
    head = b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n"))
    return head + bytes(response.body)


def _is_whole(data: bytes) -> bool:
    """Whether it is one request of which nothing is to come; when in doubt, it is not."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    if not body:
        return data.startswith(b"GET ")
    _, found, value = head.lower().partition(b"\r\ncontent-length:")
    length = value.partition(b"\r\n")[0].strip()
    return bool(found) and length.isdigit() and len(length) < 9 and len(body) == int(length)
