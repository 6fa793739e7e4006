"""One attempt of a delivery: signed afresh, posted through the guarded way out, judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentpost.clock import Clock
from agentpost.domain.times import SECOND
from agentpost.egress.client import Egress, PostResult
from agentpost.webhooks.signing import signed_headers


class Sender:
    """Makes attempts on the event loop of its `Egress`.

    Args:
        seconds: the whole of an attempt, whatever the receiver does (spec: Webhook events 6).
    """

    def __init__(self, egress: Egress, clock: Clock, seconds: float) -> None:
        self._egress = egress
        self._clock = clock
        self._seconds = seconds

    async def attempt(
        self,
        url: str,
        keys: Sequence[str],
        event_id: str,
        body: bytes,
        traceparent: str | None = None,
    ) -> PostResult:
        """Send once; never raises for what the receiver does. ``error`` is None when it took it.

        Args:
            traceparent: the trace the event belongs to, or its span of this attempt.
        """
        at = self._clock.now() // SECOND
        headers = signed_headers(keys, event_id, at, body, traceparent)
        result = await self._egress.post(url, body, headers, seconds=self._seconds)
        return replace(result, error=result.error or _refusal(result.status))


def _refusal(status: int | None) -> str | None:
    """Why an answer is a failure: anything but 2xx is."""
    if status is None or 200 <= status < 300:
        return None
    hint = " (redirects are not followed)" if 300 <= status < 400 else ""
    return f"it answered with HTTP status {status}{hint}"
