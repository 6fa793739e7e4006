"""The spans of attempts to deliver an event, and the trace context that receivers get."""

from __future__ import annotations

from agentpost.domain.endpoints import Claimed
from agentpost.egress.client import PostResult
from agentpost.observability import traces
from agentpost.observability.traces import Trace


def traceparent(claimed: Claimed) -> str | None:
    """The trace context for the receiver: of the span of this attempt, or as the caller sent it."""
    trace = _trace(claimed)
    if trace is None:
        return claimed.traceparent
    return traces.traceparent(trace, traces.span_id(traces.WEBHOOK, *_about(claimed)))


def attempted(claimed: Claimed, result: PostResult, began: int, ended: int) -> None:
    """An attempt has ended; times in microseconds since 1970 UTC."""
    trace = _trace(claimed)
    if trace is None:
        return
    shown = {
        "message_id": claimed.message_id,
        "event_id": claimed.event_id,
        "endpoint_id": claimed.endpoint_id,
        "attempt": claimed.attempts_made + 1,
        "status_code": result.status,
    }
    parent = traces.span_id(traces.MESSAGE, claimed.message_id)
    about, name = _about(claimed), f"webhook {claimed.name}"
    times = (began, ended)
    traces.record(trace, traces.WEBHOOK, about, parent, name, times, shown, result.error)


def _about(claimed: Claimed) -> tuple[object, ...]:
    return (claimed.event_id, claimed.endpoint_id, claimed.attempts_made + 1)


def _trace(claimed: Claimed) -> Trace | None:
    """None when the spans of its message are not exported, and for a test, which has none."""
    if claimed.message_id is None or not traces.is_on():
        return None
    trace = Trace.of(claimed.message_id, claimed.traceparent)
    return trace if traces.sampled(trace, claimed.traceparent) else None
