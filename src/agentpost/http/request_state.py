"""What is known of a request while it is handled, besides what the client sent."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from starlette.types import Scope

from agentpost.clock import Clock, new_id
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode
from agentpost.ratelimit.base import RateDecision
from agentpost.services.messages import Caller

_KEY = "agentpost"


@dataclass(slots=True)
class RequestState:
    """One request, from its first line to its answer.

    ``at`` is when it came, in microseconds; ``began`` the same on the performance counter.
    """

    id: str
    at: int
    began: float
    caller: Caller | None = None
    """Who sent it, once its key is known to be live."""
    budget: tuple[int, RateDecision] | None = None
    """The key's requests a minute, and what is left of them: for the headers of the answer."""
    body: bytes | int = 0
    """The body for the request log, or only its size when it is too long to keep."""
    body_ended: bool | None = None
    """Whether the whole body was read; None: nothing of it."""
    error: ErrorCode | None = None
    """Why it was refused, or how it failed."""
    watchers: list[asyncio.Task[None]] = field(default_factory=list)
    """Tasks that end with the request."""

    def end(self) -> None:
        """The request is answered, or its client is gone."""
        for watcher in self.watchers:
            watcher.cancel()


def begin(scope: Scope, clock: Clock) -> RequestState:
    """Give a request its id and its state."""
    at = clock.now()
    state = RequestState(new_id(ids.REQUEST, at), at, time.perf_counter())
    scope[_KEY] = state
    return state


def state_of(scope: Scope) -> RequestState:
    """The state that `begin` made."""
    state: RequestState = scope[_KEY]
    return state
