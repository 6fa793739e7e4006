"""Spans of OpenTelemetry: a message, its turn, their calls, its jobs, the webhooks.

All spans of a message are of one trace: the caller's, or one that has the message's own id. Their
ids are made from what they are about, so a job knows the span of its turn on any node and after any
crash, and nothing about traces is stored but the caller's ``traceparent``. A span is made when its
part has ended, from the times of the record.

Nothing is imported and nothing is done while traces are off.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import SpanContext


MESSAGE: Final = "message"
TURN: Final = "turn"
JOB: Final = "job"
CALL: Final = "call"
WEBHOOK: Final = "webhook"
_KINDS: Final = {MESSAGE: "SERVER", WEBHOOK: "CLIENT"}
_SAMPLED: Final = 1
_NANOSECONDS: Final = 1_000
_EXPORT_MS: Final = 1_000
_FLUSH_MS: Final = 5_000
_TRACE_IDS: Final = 1 << 128


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of one message.

    Attributes:
        id: as 32 hex digits.
        parent: the caller's span as 16 hex digits; None when it sent no ``traceparent``.
    """

    id: str
    parent: str | None


def is_on() -> bool:
    """Whether spans are exported."""
    return _Export.processor is not None


def sampled(message_id: str, traceparent: str | None) -> Trace | None:
    """The trace of a message that came with this ``traceparent`` (a valid one, or None), if its
    spans are exported: as the caller decided, else by their share. None: they are not."""
    if _Export.processor is None:
        return None
    if traceparent is None:
        trace = Trace(message_id.rpartition("_")[2], None)
        return trace if int(trace.id, 16) < _Export.share * _TRACE_IDS else None
    _, trace_id, parent, flags, *_ = traceparent.split("-")
    return Trace(trace_id, parent) if int(flags[:2], 16) & _SAMPLED else None


def span_id(kind: str, *about: object) -> str:
    """The id of the span of that kind about these ids and numbers, as 16 hex digits."""
    text = "\n".join((kind, *map(str, about)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def traceparent(trace: Trace, span: str) -> str:
    """The W3C header that names this span of a sampled trace as the parent."""
    return f"00-{trace.id}-{span}-01"


def record(
    trace: Trace,
    kind: str,
    about: tuple[object, ...],
    parent: str | None,
    name: str,
    times: tuple[int, int],
    attributes: Mapping[str, object],
    problem: str | None = None,
) -> None:
    """Export a span that has ended. Quick, on any thread; nothing while traces are off.

    Args:
        about: with ``kind``, what its id is made from (`span_id`).
        parent: the id of its parent.
        times: its beginning and end, in microseconds since 1970 UTC.
        attributes: texts and numbers, each shown as ``agentpost.`` and its name; others are not.
        problem: why it failed; None when it did not.
    """
    processor, resource = _Export.processor, _Export.resource
    if processor is None:
        return
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanKind, Status, StatusCode

    span = ReadableSpan(
        name,
        _context(trace, span_id(kind, *about), is_remote=False),
        _context(trace, parent, is_remote=True) if parent else None,
        resource,
        {f"agentpost.{n}": v for n, v in attributes.items() if isinstance(v, str | int | float)},
        kind=SpanKind[_KINDS.get(kind, "INTERNAL")],
        status=Status(StatusCode.ERROR, problem) if problem else Status(StatusCode.UNSET),
        start_time=times[0] * _NANOSECONDS,
        end_time=max(times) * _NANOSECONDS,
    )
    processor.on_end(span)


def _context(trace: Trace, span: str, *, is_remote: bool) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace.id, 16), int(span, 16), is_remote, flags)


@dataclass(frozen=True, slots=True)
class Place:
    """Where code of the agent runs: in a turn, a job or a call of them, by its trace and span."""

    trace: Trace
    span: str


place: ContextVar[Place | None] = ContextVar("agentpost_trace", default=None)
"""Where the current task runs; None outside of traced turns and jobs."""


@contextmanager
def span_context(trace: Trace, span: str) -> Iterator[None]:
    """What runs inside belongs to that span, for us and for the author's own spans, which
    OpenTelemetry makes its children."""
    from opentelemetry import context
    from opentelemetry.trace import NonRecordingSpan, set_span_in_context

    parent = _context(trace, span, is_remote=False)
    before = place.set(Place(trace, span))
    token = context.attach(set_span_in_context(NonRecordingSpan(parent)))
    try:
        yield
    finally:
        context.detach(token)
        place.reset(before)


class _Export:
    """Where spans go in this process."""

    processor: SpanProcessor | None = None
    resource: Resource | None = None
    share = 1.0


def configure(endpoint: str, share: float, node: str) -> None:
    """Export spans from now on, by OTLP over HTTP.

    Args:
        endpoint: the address of a collector, without the path ``/v1/traces``. Headers,
            certificates and time limits are those of OpenTelemetry's own variables
            (``OTEL_EXPORTER_OTLP_HEADERS`` and so on).
        share: of the traces that no caller decided about, from 0 to 1.
        node: the id of this process.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces")
    _Export.resource = Resource.create(
        {
            "service.name": os.environ.get("OTEL_SERVICE_NAME", "agentpost"),
            "service.version": version("agentpost"),
            "service.instance.id": node,
        }
    )
    _Export.share = share
    _Export.processor = BatchSpanProcessor(exporter, schedule_delay_millis=_EXPORT_MS)


def close() -> None:
    """Export what waits, for a few seconds at most, and no more after it. Blocks."""
    processor, _Export.processor = _Export.processor, None
    if processor is not None:
        processor.force_flush(_FLUSH_MS)
        processor.shutdown()
