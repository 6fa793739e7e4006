"""The spans of attempts to deliver an event, and the trace context that receivers get."""

from __future__ import annotations

from agentpost.egress.client import PostResult
from agentpost.observability import traces
from agentpost.observability.traces import Trace
from agentpost.webhooks.endpoint_rules import Claimed


def traceparent(claim: Claimed) -> str | None:
    """The trace context for the receiver: of the span of this attempt, or as the caller sent it."""
    trace = _trace(claim)
    if trace is None:
        return claim.traceparent
    return traces.traceparent(trace, traces.span_id(traces.WEBHOOK, *_about(claim)))


def record_attempt(claim: Claimed, result: PostResult, began: int, end: int) -> None:
    """An attempt has ended; times in microseconds since 1970 UTC."""
    trace = _trace(claim)
    if trace is None:
        return
    attributes = {
        "message_id": claim.message_id,
        "event_id": claim.event_id,
        "endpoint_id": claim.endpoint_id,
        "attempt": claim.attempts_made + 1,
        "status_code": result.status,
    }
    parent = traces.span_id(traces.MESSAGE, claim.message_id)
    about, name = _about(claim), f"webhook {claim.name}"
    times = (began, end)
    traces.record(trace, traces.WEBHOOK, about, parent, name, times, attributes, result.error)


def _about(claim: Claimed) -> tuple[object, ...]:
    return (claim.event_id, claim.endpoint_id, claim.attempts_made + 1)


def _trace(claim: Claimed) -> Trace | None:
    """None when the spans of its message are not exported, and for a test, which has none."""
    if claim.message_id is None or not traces.is_on():
        return None
    trace = Trace.of(claim.message_id, claim.traceparent)
    return trace if traces.is_sampled(trace, claim.traceparent) else None
