"""One attempt of a delivery: signed afresh, posted through the guarded way out, judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentpost.clock import Clock
from agentpost.contract.signing import signed_headers
from agentpost.domain.times import SECOND
from agentpost.egress.client import Egress


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: ``error`` is None when the receiver took it."""

    status_code: int | None
    error: str | None
    response: str
    ms: int


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
    ) -> Outcome:
        """Send once; never raises for what the receiver does.

        Args:
            traceparent: the trace the event belongs to, passed on as it came: we add no span.
        """
        headers = signed_headers(keys, event_id, self._clock.now() // SECOND, body)
        if traceparent is not None:
            headers["traceparent"] = traceparent
        result = await self._egress.post(url, body, headers, seconds=self._seconds)
        return Outcome(
            result.status, result.error or _refusal(result.status), result.snippet, result.ms
        )


def _refusal(status: int | None) -> str | None:
    """Why an answer is a failure: anything but 2xx is."""
    if status is None or 200 <= status < 300:
        return None
    followed = " (redirects are not followed)" if 300 <= status < 400 else ""
    return f"it answered with HTTP status {status}{followed}"
