"""When a request is tried again, and after how long (spec: Errors advice).

Only what can pass by itself: no answer at all, 429, 500 and 503. Every other 4xx is final; 409 in
particular never means "try again" here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom

from agentpost_client.wire import Answer, Fault

TOO_MANY_REQUESTS = 429
RETRIED_STATUSES = frozenset({TOO_MANY_REQUESTS, 500, 503})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter; all times in seconds.

    ``retries`` are made after the first try. ``retries_while_following`` holds once a long poll
    has been answered: a server that restarts in the middle of a long wait is worth more patience
    than one that was never there. ``retry_after_max`` is the longest wait accepted from a server;
    more is handed to the caller as the error. ``jitter`` gives numbers from 0 to 1.
    """

    retries: int = 4
    retries_while_following: int = 10
    busy_retries: int = 8
    base: float = 0.5
    longest: float = 8.0
    retry_after_max: float = 120.0
    jitter: Callable[[], float] = SystemRandom().random

    def backoff(self, attempt: int) -> float:
        """A random part of ``base`` doubled ``attempt`` times, up to ``longest``."""
        return self.jitter() * min(self.longest, self.base * 2.0 ** min(attempt, 16))

    def pause(self, attempt: int, outcome: Answer | Fault, repeatable: bool = True) -> float | None:
        """Seconds to the next try after try number ``attempt`` (from 0), None for "give up".

        What is not ``repeatable`` is tried again only after the rate limit refused it: then it has
        done nothing for certain. The server's ``Retry-After`` is a floor; jitter comes on top so
        that callers refused together do not come back together.
        """
        if isinstance(outcome, Fault):
            return self.backoff(attempt) if outcome.passing and repeatable else None
        if outcome.status not in (RETRIED_STATUSES if repeatable else {TOO_MANY_REQUESTS}):
            return None
        pause = outcome.retry_after
        if pause is None:
            return self.backoff(attempt)
        return pause + self.backoff(0) if pause <= self.retry_after_max else None


def trouble(outcome: Answer | Fault) -> str:
    """Why it is tried again, in a few words."""
    if isinstance(outcome, Fault):
        return outcome.brief
    if outcome.status == TOO_MANY_REQUESTS:
        return "too many requests"
    return f"server error {outcome.status}"
