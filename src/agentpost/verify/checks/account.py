"""The account, and the budget of its key (spec: Account, Limits)."""

from __future__ import annotations

from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange, int_header
from agentpost.verify.probe import Probe
from agentpost.verify.verdicts import NotChecked, expect_status, require

BUDGET_TRIES = 10
WINDOW_SECONDS = 60


def fields(probe: Probe) -> None:
    exchange = probe.caller.call("GET", "/v1/me")
    shaped(exchange, shapes.ACCOUNT, expect_status(exchange, 200))


def limit_is_told(probe: Probe) -> None:
    exchange = probe.caller.call("GET", "/v1/me")
    limits = expect_status(exchange, 200).get("limits") or {}
    reported = _number(exchange, "ratelimit-limit")
    same = reported == limits.get("requests_per_minute")
    require(exchange, same, f"RateLimit-Limit {limits.get('requests_per_minute')}", reported)


def budget_falls(probe: Probe) -> None:
    """A window that lets go of old calls may give back one meanwhile, hence several tries."""
    before = after = probe.caller.call("GET", "/v1/me")
    for _ in range(BUDGET_TRIES):
        after = probe.caller.call("GET", "/v1/me")
        if _number(after, "ratelimit-remaining") < _number(before, "ratelimit-remaining"):
            return
        before = after
    reported = after.headers["ratelimit-remaining"]
    require(after, False, "RateLimit-Remaining to fall with each request", f"{reported} again")


def reset_in_window(probe: Probe) -> None:
    exchange = probe.caller.call("GET", "/v1/me")
    reset = _number(exchange, "ratelimit-reset")
    require(exchange, 0 <= reset <= WINDOW_SECONDS, "RateLimit-Reset within a minute", reset)


def _number(exchange: Exchange, name: str) -> int:
    """A header that another check asks for; `NotChecked` when it is no number."""
    value = int_header(exchange.headers.get(name))
    if value is None:
        raise NotChecked(f"the answer has no number in {name}")
    return value


GROUP = Group(
    "account",
    "the account and its budget",
    (
        Check("fields", "The account has every field.", "Account", fields),
        Check(
            "limit-is-told", "RateLimit-Limit is the account's requests per minute.", "Limits",
            limit_is_told,
        ),
        Check(
            "budget-falls", "RateLimit-Remaining counts every request.", "Limits", budget_falls
        ),
        Check(
            "reset-in-window", "RateLimit-Reset lies within the minute.", "Limits",
            reset_in_window,
        ),
    ),
)  # fmt: skip
