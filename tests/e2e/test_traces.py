"""One trace from the caller to its webhook, as a collector gets it (docs/traces.md)."""

from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import Receiver, ReceiverMaker, receiving
from tests.e2e.server import AgentServer
from tests.waiting import eventually

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Collector:
    """The spans that an exporter has sent."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def of(self, trace: str) -> dict[str, Span]:
        """The spans of a trace by their names; all are of our service."""
        spans: dict[str, Span] = {}
        for sent in self.receiver.got:
            assert sent.path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(sent.body).resource_spans:
                known = {each.key: each.value.string_value for each in resource.resource.attributes}
                assert known["service.name"] == "agentpost"
                found = (span for scope in resource.scope_spans for span in scope.spans)
                spans |= {span.name: span for span in found if span.trace_id.hex() == trace}
        return spans


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with receiving() as receiver:
        receiver.body = b""
        yield Collector(receiver)


@pytest.fixture(scope="module")
def server(start_server: ServerMaker, collector: Collector) -> AgentServer:
    return start_server(
        otlp_endpoint=f"http://127.0.0.1:{collector.receiver.port}", egress_allow="127.0.0.1/32"
    )


def test_a_message_with_its_job_and_webhook_is_one_trace(
    caller: Caller, hooks: Hooks, receivers: ReceiverMaker, collector: Collector
) -> None:
    receiver = receivers()
    hooks.create(receiver.url, events=["job.completed"])
    script = [["start", "Work", [["step", "a"], ["return", "done"]]]]
    sent = caller.call(
        "POST",
        "/v1/messages",
        json={"message": str(script).replace("'", '"')},
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
    ).json()
    caller.final(sent["id"])
    (delivery,) = receiver.await_count(1)
    names = {
        "message",
        "turn",
        "start tests.e2e.agents:work",
        "job tests.e2e.agents:work",
        "step tests.e2e.agent_steps:mark",
        "webhook job.completed",
    }
    eventually(lambda: set(collector.of(TRACE)) >= names, what=f"{names}")
    spans = collector.of(TRACE)
    assert set(spans) == names
    parents = {name: span.parent_span_id.hex() for name, span in spans.items()}
    ids = {name: span.span_id.hex() for name, span in spans.items()}
    assert parents == {
        "message": PARENT,
        "turn": ids["message"],
        "start tests.e2e.agents:work": ids["turn"],
        "job tests.e2e.agents:work": ids["turn"],
        "step tests.e2e.agent_steps:mark": ids["job tests.e2e.agents:work"],
        "webhook job.completed": ids["message"],
    }
    assert delivery.headers["traceparent"] == f"00-{TRACE}-{ids['webhook job.completed']}-01"
    for span in spans.values():
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    said = {each.key for span in spans.values() for each in span.attributes}
    assert {"agentpost.message_id", "agentpost.job_id", "agentpost.event_id"} <= said
