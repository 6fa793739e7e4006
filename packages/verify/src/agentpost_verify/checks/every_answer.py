"""Rules for every response, checked over all responses of this probe.

It runs last. With `--only` it judges what those groups have seen.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange
from agentpost_verify.probe import Probe

Answers = list[Exchange]


@pytest.fixture
def answers(probe: Probe) -> Answers:
    """Everything that the API answered."""
    return probe.exchanges


@pytest.fixture
def errors(probe: Probe) -> Answers:
    """The errors among them, at least one: an unknown message is asked for."""
    probe.call("GET", f"/v1/messages/msg_{probe.nonce}-0")
    return [exchange for exchange in probe.exchanges if exchange.status >= 400]


def test_request_ids(answers: Answers) -> None:
    """Every answer has a Request-Id of its own. (What the service does 6)"""
    ids: dict[str, None] = {}
    for exchange in answers:
        request_id = exchange.request_id or "none"
        assert request_id.removeprefix("req_") not in (request_id, ""), (
            f"a Request-Id: req_…, not {request_id}"
        )
        assert request_id not in ids, "another Request-Id for each request"
        ids[request_id] = None


def test_error_shape(errors: Answers) -> None:
    """Every error has code, message, request_id and docs. (Errors)"""
    for exchange in errors:
        wrong = next(shapes.problems(shapes.ERROR, exchange.json), None)
        assert wrong is None, f"an error with every field, not {exchange.outcome}"


def test_same_id_in_body(errors: Answers) -> None:
    """An error's request_id is the answer's Request-Id. (Errors)"""
    for exchange in errors:
        request_id = exchange.json.get("request_id") if isinstance(exchange.json, dict) else None
        # A missing one is judged by the two checks before.
        if request_id is not None and exchange.request_id is not None:
            assert request_id == exchange.request_id, f"request_id {exchange.request_id}"


def test_budget(answers: Answers) -> None:
    """Every answer to a key tells its budget. (Limits)"""
    for exchange in answers:
        if exchange.has_key and exchange.status != 401:
            for name in ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"):
                text = exchange.headers.get(name, "none")
                assert exchange.number(name) is not None, f"a number in {name}, not {text}"


def test_times(answers: Answers) -> None:
    """Times are UTC with microseconds and Z. (What the service does 6)"""
    for exchange in answers:
        wrong = {
            name: value for name, value in times(exchange.json) if not shapes.MOMENT.fits(value)
        }
        assert wrong == {}, "times in UTC, with microseconds and Z"


def test_json_type(answers: Answers) -> None:
    """Answers are JSON and say so. (What the service does 6)"""
    for exchange in answers:
        if exchange.body:
            kind = exchange.headers.get("content-type", "none").partition(";")[0]
            assert kind == "application/json", "Content-Type application/json"


def test_retry_after(answers: Answers) -> None:
    """Every 429 says when to come again. (Errors)"""
    refusals = [exchange for exchange in answers if exchange.status == 429]
    if not refusals:
        pytest.skip("no rate limit was hit; the checks hit none on purpose")
    for exchange in refusals:
        text = exchange.headers.get("retry-after", "none")
        assert exchange.number("retry-after") is not None, f"Retry-After in seconds, not {text}"


def test_no_fault(answers: Answers) -> None:
    """Nothing asked made the server fail. (Errors)"""
    for exchange in answers:
        # 503: it is switched off.
        assert exchange.status < 500 or exchange.status == 503, f"no fault: {exchange.outcome}"


def times(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what must be a time."""
    if isinstance(value, dict):
        for name, item in value.items():
            is_time = name.endswith("_at") or name in ("at", "resume_by")
            if is_time and item is not None:
                yield name, item
            if name != "metadata":
                yield from times(item)
    elif isinstance(value, list):
        for item in value:
            yield from times(item)
