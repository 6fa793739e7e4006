"""Reading a message and waiting for it (spec: getMessage)."""

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Json, without_links
from agentpost_verify.probe import Probe
from agentpost_verify.samples import WAIT_SECONDS_MAX, one_answer

AT_ONCE_SECONDS = 10.0
"""Much less than the wait asked for, and enough for a slow network."""
WRONG_WAITS = (str(WAIT_SECONDS_MAX + 1), "-1", "1.5", "soon")


def test_fields(probe: Probe, greeting_id: str) -> None:
    """A message is read as it was sent, with every field. (Message)"""
    message = probe.read(greeting_id).expect("200", shape=shapes.MESSAGE)
    assert message["id"] == greeting_id, f"the message {greeting_id}"


test_unknown = one_answer(
    "An unknown message is not_found. (getMessage)", "404 not_found", "GET /v1/messages/msg_{nonce}"
)
test_wait_bounds = one_answer(
    "wait is a whole number from 0 to 45. (Limits)",
    "400 invalid_request",
    *((f"GET /v1/messages/{{greeting_id}}?wait={wait}", None, "wait") for wait in WRONG_WAITS),
    held_seconds=WAIT_SECONDS_MAX,
)


def test_final_at_once(probe: Probe, greeting: Json) -> None:
    """A final message is not waited for. (getMessage)"""
    exchange = probe.read(greeting["id"], WAIT_SECONDS_MAX)
    exchange.expect("200")
    assert exchange.took < AT_ONCE_SECONDS, "an answer at once"


def test_final_stays(probe: Probe, greeting: Json) -> None:
    """A final message does not change. (Message)"""
    message = probe.read(greeting["id"]).expect("200")
    assert without_links(message) == without_links(greeting), "a final message not to change"


def test_etag(probe: Probe, greeting: Json) -> None:
    """A request with the newest ETag is answered with 304. (addition)"""
    tag = probe.read(greeting["id"]).headers.get("etag")
    if tag is None:
        pytest.skip("this deployment sends no ETag, which agentpost adds to the API")
    path = f"/v1/messages/{greeting['id']}"
    exchange = probe.call("GET", path, if_none_match=tag)
    assert (exchange.status, exchange.body) == (304, b""), "an empty 304"
    probe.call("GET", path, if_none_match='"other"').expect("200")
