"""Ids of traces and spans, and where an author's own spans belong (docs/traces.md)."""

import pytest
from opentelemetry import trace as opentelemetry

from agentpost.observability import traces
from agentpost.observability.traces import Trace

MESSAGE = "msg_0660e70f4bb2f957f0b3564fe88122b3"
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_trace_is_the_caller_s_or_has_the_id_of_its_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traces._Export, "processor", object())
    monkeypatch.setattr(traces._Export, "share", 1.0)
    assert traces.sampled(MESSAGE, GIVEN) == Trace(GIVEN[3:35], GIVEN[36:52])
    assert traces.sampled(MESSAGE, None) == Trace(MESSAGE[4:], None)


def test_ids_of_spans_differ_by_what_they_are_about() -> None:
    ids = {
        traces.span_id(traces.TURN, MESSAGE),
        traces.span_id(traces.MESSAGE, MESSAGE),
        traces.span_id(traces.CALL, MESSAGE, 1),
        traces.span_id(traces.CALL, MESSAGE, 11),
        traces.span_id(traces.CALL, f"{MESSAGE}1", 1),
    }
    assert len(ids) == 5
    assert all(len(bytes.fromhex(each)) == 8 for each in ids)


@pytest.mark.parametrize(
    ("given", "share", "exported"),
    [
        (GIVEN, 0.0, True),
        (f"{GIVEN[:-1]}0", 1.0, False),
        (None, 1.0, True),
        (None, 0.0, False),
        (None, 0.02, False),  # the message's id begins with 06 of ff
        (None, 0.03, True),
    ],
)
def test_the_caller_decides_or_the_share_of_all_ids(
    monkeypatch: pytest.MonkeyPatch, given: str | None, share: float, exported: bool
) -> None:
    assert traces.sampled(MESSAGE, given) is None  # off
    monkeypatch.setattr(traces._Export, "processor", object())
    monkeypatch.setattr(traces._Export, "share", share)
    assert (traces.sampled(MESSAGE, given) is not None) is exported


def test_an_author_s_own_spans_are_children_of_the_call() -> None:
    trace, span = Trace(MESSAGE[4:], None), traces.span_id(traces.CALL, MESSAGE, 1)
    with traces.span_context(trace, span):
        context = opentelemetry.get_current_span().get_span_context()
        assert (f"{context.trace_id:032x}", f"{context.span_id:016x}") == (trace.id, span)
        place = traces.place.get()
        assert place is not None
        assert traces.traceparent(place.trace, place.span) == f"00-{trace.id}-{span}-01"
    assert not opentelemetry.get_current_span().get_span_context().is_valid
    assert traces.place.get() is None
