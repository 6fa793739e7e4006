"""What is known of a request while it is handled, besides what the client sent."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.responses import Response
from starlette.types import Scope

from agentpost.audit.actions import Action
from agentpost.caller import Caller
from agentpost.clock import Clock, new_id
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode
from agentpost.ratelimit.base import RateDecision
from agentpost.requests.redaction import LargeBody

_KEY = "agentpost"
PEER = "agentpost.peer"
"""Where a server puts the `Peer` into the scope."""


class Peer(Protocol):
    """Who sent a request, as its connection sees them. A server without one is asked by tasks and
    timers instead, which cost a held call more than all else in it."""

    more_body: bool
    """Whether a part of the request is not here yet."""

    def watch(self, hung_up: Callable[[], None]) -> None:
        """Call this once the connection is lost before the request is answered, at once if it is.
        The request has to be here: while a body that nobody reads keeps the connection from being
        read, so does its end."""

    def answer(self, response: Response) -> bool:
        """Send a plain response in one piece, whose body is there; most are. Through ASGI it is two
        messages, whose headers uvicorn examines one by one. False: it is none of those, and nothing
        was sent."""

    def abort(self) -> None:
        """Disconnect at once; what was not sent yet is dropped."""


@dataclass(slots=True)
class RequestState:
    """One request, from its first line to its answer. ``at`` is when it came, in microseconds;
    ``began`` the same on the performance counter."""

    id: str
    at: int
    began: float
    caller: Caller | None = None
    """Who sent it, once its key is known to be live."""
    budget: tuple[int, RateDecision] | None = None
    """The key's requests a minute, and what is left of them: for the headers of the answer."""
    body: bytes | LargeBody = b""
    """The body for the request log."""
    reads: bool = False
    """Whether it only reads, although its method is that of a change."""
    body_ended: bool | None = None
    """Whether the whole body was read; None: nothing of it."""
    error: ErrorCode | None = None
    """Why it was refused, or how it failed."""
    action: Action | None = None
    """What the audit log is to say of it."""
    peer: Peer | None = None
    at_end: list[Callable[[], object]] = field(default_factory=list)
    """Called when the request is over."""

    def end(self) -> None:
        """The request is answered, or its client is gone."""
        for callback in self.at_end:
            callback()
        self.at_end.clear()


def begin(scope: Scope, clock: Clock) -> RequestState:
    """Give a request its id and its state."""
    at = clock.now()
    state = RequestState(
        new_id(ids.REQUEST, at), at, time.perf_counter(), peer=scope.pop(PEER, None)
    )
    scope[_KEY] = state
    return state


def state_of(scope: Scope) -> RequestState:
    """The state that `begin` made."""
    state: RequestState = scope[_KEY]
    return state
