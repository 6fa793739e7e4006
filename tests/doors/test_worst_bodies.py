"""The dearest bodies of each operation and door are refused by their counts, before work is done.

How long they hold up another account is measured by `benchmarks/stalls.py`.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from agentpost.domain.limits import STREAMS_OF_ONE_MAX
from benchmarks.worst_bodies import Route, worst_bodies
from tests.e2e.server import KEY, AgentServer

BODIES = list(worst_bodies())
TAKEN = (
    *("files", "createMessage unknown", "createMessage answer "),
    *("schema properties", "schema old draft"),
    *(f"{path} {what}" for path in ("responses", "chat/completions") for what in ("parts", "uncl")),
)
"""Bodies that are no larger than a caller may send: what they ask for is done."""


@pytest.fixture(scope="module")
def server(start_server: Callable[..., AgentServer]) -> AgentServer:
    return start_server(requests_per_minute=100_000)


def send(server: AgentServer, route: Route, body: bytes) -> tuple[int, Any]:
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    method, path = route
    url = server.url + path
    answer = httpx2.request(
        method, url, headers=headers, content=body, timeout=120, trust_env=False
    )
    return answer.status_code, answer.text


def test_each_is_refused_in_the_form_of_its_door(server: AgentServer) -> None:
    answers = {
        name: send(server, route, body)
        for name, route, body in BODIES
        if not name.startswith(TAKEN)
    }
    taken = {
        name: answer
        for name, answer in answers.items()
        if answer[0] not in (400, 404) and "over " not in answer[1]
    }
    assert taken == {}


@pytest.mark.parametrize("kind", ["list", "object"])
def test_counts_are_told_before_the_items_are_looked_at(server: AgentServer, kind: str) -> None:
    field = "upload_ids" if kind == "list" else "metadata"
    [body] = [body for name, _, body in BODIES if name == f"createMessage {field} {kind}"]
    status, text = send(server, ("POST", "/v1/messages"), body)
    assert (status, text.count('"field"'), "has over" in text) == (400, 1, True), text


@pytest.mark.parametrize("name", [n for n, _, _ in BODIES if n.startswith(("a2a", "mcp"))])
def test_a_call_of_another_protocol_is_counted_before_its_sdk_has_it(
    server: AgentServer, name: str
) -> None:
    [(route, body)] = [(route, body) for each, route, body in BODIES if each == name]
    _, text = send(server, route, body)
    assert "has over" in text, text[:500]


def test_the_budget_is_asked_before_a_schema_is_looked_at(
    start_server: Callable[..., AgentServer],
) -> None:
    """One that is refused counts: an account cannot have one looked at after another."""
    server = start_server(messages_per_hour=1)
    route = ("POST", "/v1/messages")
    [body] = [body for name, _, body in BODIES if name == "schema pattern"]
    assert [send(server, route, body)[0] for _ in range(2)] == [400, 429]


def test_streams_of_the_same_events_are_bounded(server: AgentServer) -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
    url = f"{server.url}/v1/events"
    with ExitStack() as opened:
        client = opened.enter_context(httpx2.Client(headers=headers, timeout=120, trust_env=False))
        statuses = [
            opened.enter_context(client.stream("GET", url)).status_code
            for _ in range(STREAMS_OF_ONE_MAX + 1)
        ]
    assert statuses == [200] * STREAMS_OF_ONE_MAX + [429]
