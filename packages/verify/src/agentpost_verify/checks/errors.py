"""Requests that no resource understands (spec: Errors)."""

from agentpost_verify.answers import problem_fields
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

test_unknown_route = one_answer(
    "An unknown route is not_found. (Errors)", "404 not_found", "GET /v1/verify-{nonce}"
)


def test_wrong_method(probe: Probe) -> None:
    """A route refuses methods it has not. (Errors)"""
    status = probe.call("DELETE", "/v1/me").status
    assert status in (404, 405), "status 405 or 404"


def test_invalid_json(probe: Probe) -> None:
    """A body that is not a JSON object is invalid_request, field null. (Errors)"""
    for raw in (b"{no json", b"\xff{}", b"[]", b'"text"'):
        exchange = probe.call("POST", "/v1/messages", raw)
        fields = problem_fields(exchange.expect("400 invalid_request"))
        assert None in fields, "a problem with the whole body (field null)"


def test_docs_link(probe: Probe) -> None:
    """The docs link of an error leads to its explanation. (Errors)"""
    error = probe.call("GET", "/v1/messages/msg_unknown").expect("404 not_found")
    page = probe.fetch(str(error.get("docs")))
    assert page.status == 200, "a page behind the docs link"
    assert b"not_found" in page.body, "a page that explains not_found"
