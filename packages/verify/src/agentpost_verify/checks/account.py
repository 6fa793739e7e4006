"""The account, and the budget of its key (spec: Account, Limits)."""

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

BUDGET_TRIES = 5
WINDOW_SECONDS = 60


test_fields = one_answer(
    "The account has every field. (Account)", "200", "GET /v1/me", shape=shapes.ACCOUNT
)


def test_limit_is_told(probe: Probe) -> None:
    """RateLimit-Limit is the account's requests per minute. (Limits)"""
    exchange = probe.call("GET", "/v1/me")
    limit = (exchange.expect("200").get("limits") or {}).get("requests_per_minute")
    assert number(exchange, "ratelimit-limit") == limit, f"RateLimit-Limit {limit}"


def test_budget_falls(probe: Probe) -> None:
    """RateLimit-Remaining counts every request. (Limits)

    A window that lets go of old calls may give back one meanwhile, hence several tries.
    """
    for _ in range(BUDGET_TRIES):
        calls = [probe.call("GET", "/v1/me") for _ in range(2)]
        before, remaining = (number(exchange, "ratelimit-remaining") for exchange in calls)
        if remaining < before:
            return
    assert remaining < before, "RateLimit-Remaining to fall with each request"


def test_reset_in_window(probe: Probe) -> None:
    """RateLimit-Reset lies within the minute. (Limits)"""
    reset = number(probe.call("GET", "/v1/me"), "ratelimit-reset")
    assert reset <= WINDOW_SECONDS, "RateLimit-Reset within a minute"


def number(exchange: Exchange, name: str) -> int:
    """A header that another check asks for; skips when it is no number."""
    value = exchange.number(name)
    if value is None:
        pytest.skip(f"the answer has no number in {name}")
    return value
