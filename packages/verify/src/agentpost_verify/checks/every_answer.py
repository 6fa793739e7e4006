"""Rules for every response, checked over all responses of this probe.

It runs last. With `--only` it judges what those groups have seen.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange
from agentpost_verify.probe import Probe


@pytest.fixture
def errors(probe: Probe) -> list[Exchange]:
    """The errors among all answers, at least one: an unknown message is asked for."""
    probe.call("GET", f"/v1/messages/msg_{probe.nonce}-0")
    return [exchange for exchange in probe.exchanges if exchange.status >= 400]


def test_request_ids(probe: Probe) -> None:
    """Every answer has a Request-Id of its own. (What the service does 6)"""
    ids: set[str] = set()
    for exchange in probe.exchanges:
        request_id = exchange.request_id or "none"
        is_proper = request_id.startswith("req_") and request_id != "req_"
        assert is_proper, f"a Request-Id: req_…, not {request_id}"
        assert request_id not in ids, "another Request-Id for each request"
        ids.add(request_id)


def test_error_shape(errors: list[Exchange]) -> None:
    """Every error has code, message, request_id and docs. (Errors)"""
    for exchange in errors:
        wrong = next(shapes.problems(shapes.ERROR, exchange.json), None)
        assert wrong is None, f"an error with every field, not {exchange.outcome}"


def test_same_id_in_body(errors: list[Exchange]) -> None:
    """An error's request_id is the answer's Request-Id. (Errors)"""
    for exchange in errors:
        request_id = exchange.json.get("request_id") if isinstance(exchange.json, dict) else None
        # A missing one is judged by the two checks before.
        if request_id is not None and exchange.request_id is not None:
            assert request_id == exchange.request_id, f"request_id {exchange.request_id}"


def test_budget(probe: Probe) -> None:
    """Every answer to a key tells its budget. (Limits)"""
    for exchange in probe.exchanges:
        if exchange.has_key and exchange.status != 401:
            for name in ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"):
                text = exchange.headers.get(name, "none")
                assert exchange.number(name) is not None, f"a number in {name}, not {text}"


def test_times(probe: Probe) -> None:
    """Times are UTC with microseconds and Z. (What the service does 6)"""
    for exchange in probe.exchanges:
        wrong = [each for each in times(exchange.json) if not shapes.MOMENT.fits(each[1])]
        assert wrong == [], "times in UTC, with microseconds and Z"


def times(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what must be a time."""
    for name, item in value.items() if isinstance(value, dict) else ():
        if item is not None and (name.endswith("_at") or name in ("at", "resume_by")):
            yield name, item
        if name != "metadata":
            yield from times(item)
    for item in value if isinstance(value, list) else ():
        yield from times(item)


def test_json_type(probe: Probe) -> None:
    """Answers are JSON and say so. (What the service does 6)"""
    for exchange in probe.exchanges:
        if exchange.body:
            kind = exchange.headers.get("content-type", "none").partition(";")[0]
            assert kind == "application/json", "Content-Type application/json"


def test_retry_after(probe: Probe) -> None:
    """Every 429 says when to come again. (Errors)"""
    refusals = [exchange for exchange in probe.exchanges if exchange.status == 429]
    if not refusals:
        pytest.skip("no rate limit was hit; the checks hit none on purpose")
    for exchange in refusals:
        text = exchange.headers.get("retry-after", "none")
        assert exchange.number("retry-after") is not None, f"Retry-After in seconds, not {text}"


def test_no_fault(probe: Probe) -> None:
    """Nothing asked made the server fail. (Errors)"""
    for exchange in probe.exchanges:
        # 503: it is switched off.
        assert exchange.status < 500 or exchange.status == 503, f"no fault: {exchange.outcome}"
