"""Requests that no resource understands (spec: Errors)."""

import pytest

from agentpost_verify.answers import expect, problem_fields
from agentpost_verify.one_answer import one_answer
from agentpost_verify.probe import Probe

test_unknown_route = one_answer(
    "An unknown route is not_found. (Errors)", "404 not_found", "GET /v1/verify-{nonce}"
)


def test_wrong_method(probe: Probe) -> None:
    """A route refuses methods it has not. (Errors)"""
    exchange = probe.call("DELETE", "/v1/me")
    assert exchange.status in (404, 405), "status 405 or 404"


@pytest.mark.parametrize("raw", [b"{no json", b"\xff{}", b"[]", b'"text"'])
def test_invalid_json(probe: Probe, raw: bytes) -> None:
    """A body that is not a JSON object is invalid_request, field null. (Errors)"""
    exchange = probe.call("POST", "/v1/messages", raw=raw)
    fields = problem_fields(expect(exchange, "400 invalid_request"))
    assert None in fields, "a problem with the whole body (field null)"


def test_docs_link(probe: Probe) -> None:
    """The docs link of an error leads to its explanation. (Errors)"""
    error = expect(probe.call("GET", "/v1/messages/msg_unknown"), "404 not_found")
    link = str(error.get("docs"))
    exchange = probe.fetch(link)
    assert exchange.status == 200, f"a page behind the docs link {link}"
    assert b"not_found" in exchange.body, f"a page that explains not_found at {link}"
