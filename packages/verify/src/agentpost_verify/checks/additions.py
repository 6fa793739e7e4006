"""What agentpost adds to the API: the account's events and requests, filters of messages, typed
questions and outputs by schema.

A deployment that has none of it answers the routes with 404 and ignores the fields; then nothing of
it is checked.
"""

from typing import Final

import pytest

from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import CSV, GREETING, inline

PAGES_MAX: Final = 20
SCHEMA: Final[Json] = {"type": "object", "required": ["verified"]}


def expect_route(exchange: Exchange) -> Json:
    """The body of a route that a deployment may lack."""
    if exchange.status == 404:
        pytest.skip("the deployment does not have it")
    return exchange.expect("200")


@pytest.fixture(scope="session")
def cursor(probe: Probe) -> str:
    """A cursor of the account's events."""
    return str(expect_route(probe.call("GET", "/v1/events")).get("cursor"))


@pytest.fixture(scope="session")
def message(probe: Probe, cursor: str) -> Json:
    """The final message with a schema, sent behind that cursor."""
    return probe.final(probe.send(GREETING, response_schema=SCHEMA).sample(201)["id"])


def test_events(probe: Probe, cursor: str, message: Json) -> None:
    """The account's events have those of a message. (addition)"""
    for _ in range(PAGES_MAX):  # an account in use has events of others as well
        page = probe.call("GET", f"/v1/events?cursor={cursor}").expect("200")
        if message["id"] in [(e.get("data") or {}).get("id") for e in page.get("data") or []]:
            return
        cursor = str(page.get("cursor"))
        assert page.get("has_more") is True, f"an event of {message['id']}"
    pytest.skip(f"there were too many other events: {PAGES_MAX} pages")


def test_events_cursor(probe: Probe) -> None:
    """A cursor that was not issued is refused. (addition)"""
    expect_route(probe.call("GET", "/v1/events"))
    probe.call("GET", "/v1/events?cursor=nowhere").expect("400 bad_cursor")


def test_output(probe: Probe, message: Json) -> None:
    """A message with a schema gets a fitting output. (addition)"""
    if "output" not in message:
        pytest.skip("the deployment does not have it")
    output = message["output"]
    if output is None and message.get("status") != "completed":
        pytest.skip("not proven here: the agent gives no output")
    fields = list(output) if isinstance(output, dict) else []
    assert "verified" in fields, f"an output for {SCHEMA}, or a failed message: {message['id']}"


def test_bad_schema(probe: Probe) -> None:
    """A schema that cannot be used is refused. (addition)"""
    exchange = probe.send(GREETING, response_schema={"type": 5})
    if exchange.status == 201:
        pytest.skip("the deployment does not have it, or takes every schema")
    exchange.expect("400 invalid_request", problem="response_schema")


def test_question(probe: Probe) -> None:
    """A question takes one of its choices, once. (addition)"""
    files = [inline("sales.csv", CSV)]
    question = probe.final(probe.send("Here is a file.", files=files).sample(201)["id"])
    form = question.get("answer_format")
    if not isinstance(form, dict) or not form.get("choices"):
        pytest.skip("not proven here: the agent asked nothing that has choices")
    wrong = {"answer_to": question["id"], "answer": f"verify-{probe.nonce}"}
    probe.post(wrong).expect("400 invalid_request", problem="answer")
    right = {**wrong, "answer": form["choices"][0]}
    probe.final(probe.post(right).expect("201")["id"])
    probe.post(right).expect("400 invalid_request", problem="answer_to")


def test_unknown_question(probe: Probe) -> None:
    """An answer needs its question. (addition)"""
    exchange = probe.send(GREETING, answer_to=f"msg_{probe.nonce}", answer="yes")
    if exchange.status == 201:
        pytest.skip("the deployment does not have it")
    exchange.expect("404 not_found")


def test_requests(probe: Probe) -> None:
    """The requests of the key are listed. (addition)"""
    items = expect_route(probe.call("GET", "/v1/requests?limit=2")).get("data")
    is_right = isinstance(items, list) and len(items) <= 2
    assert is_right is True, "a list of up to 2 requests"


def test_filters(probe: Probe, greeting: Json) -> None:
    """Messages are filtered by status and conversation. (addition)

    By the greeting's status, and by a conversation that does not exist.
    """
    status = greeting["status"]
    page = expect_route(probe.call("GET", f"/v1/messages?status={status}&limit=50"))
    statuses = sorted({str(item.get("status")) for item in page.get("data") or []})
    assert statuses in ([status], []), f"only {status} messages"
    page = expect_route(probe.call("GET", f"/v1/messages?conversation={probe.key_for('none')}"))
    assert not page.get("data"), "no message of a new conversation"


def test_unknown_status(probe: Probe) -> None:
    """A status that there is not is refused. (addition)"""
    expect_route(probe.call("GET", "/v1/messages?limit=1"))
    probe.call("GET", "/v1/messages?status=pondering").expect(
        "400 invalid_request", problem="status"
    )
