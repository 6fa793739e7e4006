"""Turn new connections away while more come than can be served (design: More than can be served).

Reading a request, finding its key and refusing it then takes several times as long as answering the
first bytes with 503, and what has waited to be accepted for seconds is of no use to its client. So
this is decided with the first bytes of a connection: they show whose key it is, and an account of
which little arrives is let in. Connections that are open already are not concerned, nor is anything
that is held on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import structlog
from starlette.responses import Response

from agentpost.clock import Clock, new_id
from agentpost.domain import ids
from agentpost.domain.times import MINUTE, seconds
from agentpost.http.exchange import raw_answer
from agentpost.limits.intake import Intake

if TYPE_CHECKING:
    from agentpost.http.connection import Connection

log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 5.0
"""For the first bytes of a connection that is turned away."""
LINGER_SECONDS: Final = 1.0
"""How long the rest of its request is thrown away: closing at once could cost it the answer."""
_PROBES: Final = (b"GET /healthz ", b"GET /readyz ", b"HEAD /healthz ", b"HEAD /readyz ")
"""What is answered all the same: whoever asks so restarts a server that does not answer."""
BURST_SECONDS: Final = 3.0
"""How long more may wait than should before any is turned away: what came in a burst, or while the
server stood still, can be served. For as long they must have been fewer until the next burst is."""
_AT_ONCE: Final = 32
"""Connections that are answered between two turns of the loop: this takes two milliseconds, for
which everything else waits."""
_FIRST_BYTES: Final = 4_096
"""Of a connection that is answered so; one that sends more is left to the loop."""
_MESSAGE: Final = b"POST /v1/messages "
_BEARER: Final = b"uthorization: Bearer "
"""As clients spell it. Who spells it otherwise counts as somebody unknown here, and here only."""
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
        open_max: how many that are turned away may be open at once, besides all other
            connections: each is an open file.
        intake: the messages that wait to be stored.
        are_busy: whether all connections there may be are in use.
        account_of: the account of a key, if it is known without looking it up.
        no_room: the answer to one that is turned away, given the seconds after which its client may
            come back, and the id of the request.
        count: called for each that is turned away.
    """

    def __init__(
        self,
        listening: socket.socket,
        most: int,
        open_max: int,
        *,
        intake: Intake,
        are_busy: Callable[[], bool],
        account_of: Callable[[str], str | None],
        no_room: Callable[[int, str], Response],
        count: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._listening = listening
        self._most = most
        self._open_max = open_max
        self._intake = intake
        self._are_busy = are_busy
        self._is_crowded = False
        self._account_of = account_of
        self._no_room = no_room
        self._answers: dict[int, bytes] = {}
        self._any_id = new_id(ids.REQUEST, clock.now())  # in these answers; all are as long
        self._count = count
        self._clock = clock
        self._crowd = _Crowd()
        self._recent = RecentArrivals()
        self._clearing = False
        self._starting: set[asyncio.Task[object]] = set()
        self._open: dict[TurnedAway, None] = {}  # longest first
        self._refused = 0
        self._reported_at: int | None = None

    def protocol(self, admit: Callable[[], Connection]) -> asyncio.Protocol:
        """The protocol of the connection that was accepted just now: what ``admit`` makes, or one
        that looks at its first bytes before that."""
        if not self.looks():
            return admit()
        if not self._clearing:
            self._clearing = True
            asyncio.get_running_loop().call_soon(self._clear, admit, self._is_crowded)
        return TurnedAway(self, admit, in_crowd=self._is_crowded)

    def looks(self) -> bool:
        """Whether the first bytes of the connection that was accepted just now decide about it."""
        queue = waiting(self._listening)
        is_there = queue is not None and queue[0] > min(self._most, queue[1] * _FULL_SHARE)
        self._is_crowded = self._crowd.stays(is_there, self._clock.passed())
        return self._is_crowded or self._is_full() or self._intake.is_filling

    def lets_in(self, data: bytes, in_crowd: bool) -> bool:
        """Whether a connection that is looked at is served, as its first bytes are: it asks whether
        the server lives, or little of its account arrives, if it came ``in_crowd``, or waits."""
        if data.startswith(_PROBES):
            return True
        account = self._account_of(_key(data))
        self._recent.add(account)
        if self._is_full() or self._is_overrun():
            return False
        if in_crowd:
            return self._recent.are_few(account)
        return not (data.startswith(_MESSAGE) and account and self._intake.has_many(account))

    def _is_full(self) -> bool:
        return self._intake.is_full or self._are_busy()

    def _is_overrun(self) -> bool:
        queue = waiting(self._listening)
        return queue is not None and queue[0] > queue[1] * _FULL_SHARE

    def _clear(self, admit: Callable[[], Connection], in_crowd: bool) -> None:
        """Look at those that wait to be accepted, when too many do until half as many are left: the
        loop takes twice as long to accept one and to read what it sent."""
        self._clearing = False
        queue = waiting(self._listening)
        many = _AT_ONCE
        if queue is not None:
            many = min(many, queue[0] - (self._most // 2 if in_crowd else 0))
        for _ in range(many):
            try:
                connection, _ = self._listening.accept()
            except OSError:  # none waits any more, or no file can be opened
                return
            self._answer(connection, admit, in_crowd)

    def _answer(
        self, connection: socket.socket, admit: Callable[[], Connection], in_crowd: bool
    ) -> None:
        """Turn it away at once if its request is there; if not, or if it is let in, the loop takes
        it."""
        try:
            data = connection.recv(_FIRST_BYTES, socket.MSG_DONTWAIT)
            is_over = not data
        except OSError as error:
            data, is_over = b"", not isinstance(error, BlockingIOError)
        let_in = bool(data) and self.lets_in(data, in_crowd)
        if _is_whole(data) and not let_in:
            with contextlib.suppress(OSError):
                connection.send(self.turn_away(), socket.MSG_DONTWAIT)
            is_over = True
        if is_over:
            connection.close()
            return
        connection.setblocking(False)
        protocol = partial(TurnedAway, self, admit, data, in_crowd=in_crowd, let_in=let_in)
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(protocol, connection))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    def add(self, connection: TurnedAway) -> None:
        """One that is turned away; one too many closes the one that is open longest."""
        self._open[connection] = None
        if len(self._open) > self._open_max:
            oldest = next(iter(self._open))
            self.remove(oldest)
            oldest.end()

    def remove(self, connection: TurnedAway) -> None:
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
            answer = self._answers[seconds] = raw_answer(self._no_room(seconds, self._any_id))
        request_id = new_id(ids.REQUEST, self._clock.now())
        return answer.replace(self._any_id.encode(), request_id.encode())


class TurnedAway(asyncio.Protocol):
    """A connection whose first request is answered with 503 and not read. One that is let in all
    the same is given to the protocol that ``admit`` makes. ``in_crowd``: it came while too many
    waited. ``data``: what came of it already, and ``let_in`` what was decided then."""

    def __init__(
        self,
        arrivals: Arrivals,
        admit: Callable[[], Connection],
        data: bytes = b"",
        *,
        in_crowd: bool,
        let_in: bool = False,
    ) -> None:
        self._arrivals = arrivals
        self._admit = admit
        self._data = data
        self._in_crowd = in_crowd
        self._let_in = let_in
        self._answered = False
        self._transport: asyncio.Transport
        self._ending: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        loop = asyncio.get_running_loop()
        self._ending = loop.call_later(PATIENCE_SECONDS, transport.close)
        self._arrivals.add(self)
        if self._data:
            self._begin(self._data, self._let_in)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending.cancel()
        self._arrivals.remove(self)

    def end(self) -> None:
        """Close it: others need its place. It may have its answer before its request."""
        if not self._answered:
            self._transport.write(self._arrivals.turn_away())
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if not self._answered:
            self._begin(data, self._arrivals.lets_in(data, self._in_crowd))

    def _begin(self, data: bytes, let_in: bool) -> None:
        self._ending.cancel()
        if let_in:
            self._arrivals.remove(self)
            protocol = self._admit()
            self._transport.set_protocol(protocol)
            protocol.connection_made(self._transport)
            protocol.data_received(data)
            return
        self._answered = True
        self._transport.write(self._arrivals.turn_away())
        if _is_whole(data):
            self._transport.close()
        else:
            self._transport.write_eof()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(LINGER_SECONDS, self._transport.close)


def _key(data: bytes) -> str:
    """The key in a request's head; empty without one."""
    head = data.partition(b"\r\n\r\n")[0]
    return head.partition(_BEARER)[2].partition(b"\r\n")[0].decode("latin-1")


def _is_whole(data: bytes) -> bool:
    """Whether it is one request of which nothing is to come; when in doubt, it is not."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    if not body:
        return data.startswith(b"GET ")
    _, separator, value = head.lower().partition(b"\r\ncontent-length:")
    length = value.partition(b"\r\n")[0].strip()
    return bool(separator) and length.isdigit() and len(length) < 9 and len(body) == int(length)


# --- who sends little, so that it is not refused for the many of others --------------------------
REMEMBERED: Final = 1_000
_OF_A_SHARE: Final = 2
"""One over that is how much of an equal share is little: so at most that part of what arrives is
let in as little, however many send it."""


class RecentArrivals:
    """The last thousand arrivals, each by an account; those of nobody known count as one account's,
    or a made-up key for each would let all of them in."""

    def __init__(self) -> None:
        self._order: deque[str | None] = deque()
        self._by_account: Counter[str | None] = Counter()

    def add(self, account: str | None) -> None:
        """One arrived, of an account or of nobody known."""
        self._order.append(account)
        self._by_account[account] += 1
        if len(self._order) > REMEMBERED:
            oldest = self._order.popleft()
            self._by_account[oldest] -= 1
            if not self._by_account[oldest]:
                del self._by_account[oldest]

    def are_few(self, account: str | None) -> bool:
        """Whether the account has at most half an equal share of them."""
        own = self._by_account[account]
        return own * len(self._by_account) * _OF_A_SHARE <= len(self._order)
