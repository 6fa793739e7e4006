"""Rules for every response, checked over all responses of this probe.

It runs last. With `--only` it judges what those groups have seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentpost.verify import shapes
from agentpost.verify.check import Check, Group
from agentpost.verify.exchange import Exchange, int_header
from agentpost.verify.probe import Probe
from agentpost.verify.shapes import TIME, problems
from agentpost.verify.verdicts import NotChecked, differs, require, summary

BUDGET = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")


def request_ids(probe: Probe) -> None:
    ids = []
    for exchange in _answers(probe):
        given = exchange.request_id or ""
        right = given.startswith("req_") and len(given) > len("req_")
        require(exchange, right, "a Request-Id: req_…", given or "none")
        ids.append(given)
    twice = [given for given in ids if ids.count(given) > 1]
    require(None, not twice, "another Request-Id for each request", twice[:1])


def error_shape(probe: Probe) -> None:
    for exchange in _errors(probe):
        found = list(problems(shapes.ERROR, exchange.json()))
        if found:
            differs(exchange, "an error with every field", f"{summary(exchange)}: {found[0]}")


def same_id_in_body(probe: Probe) -> None:
    for exchange in _errors(probe):
        body = exchange.json()
        reported = body.get("request_id") if isinstance(body, dict) else None
        if reported is None or exchange.request_id is None:
            continue  # judged by the two checks before
        require(
            exchange, reported == exchange.request_id, f"request_id {exchange.request_id}", reported
        )


def budget(probe: Probe) -> None:
    for exchange in _answers(probe):
        for name in BUDGET if exchange.known and exchange.status != 401 else ():
            reported = exchange.headers.get(name)
            require(
                exchange,
                int_header(reported) is not None,
                f"a number in {name}",
                reported or "none",
            )


def times(probe: Probe) -> None:
    for exchange in _answers(probe):
        for name, value in _times(exchange.json()):
            right = isinstance(value, str) and TIME.fullmatch(value) is not None
            require(exchange, right, f"{name} in UTC, with microseconds and Z", value)


def json_type(probe: Probe) -> None:
    for exchange in _answers(probe):
        kind = exchange.headers.get("content-type", "none")
        right = not exchange.body or kind.startswith("application/json")
        require(exchange, right, "Content-Type application/json", kind)


def retry_after(probe: Probe) -> None:
    limited = [exchange for exchange in _answers(probe) if exchange.status == 429]
    if not limited:
        raise NotChecked("no rate limit was hit; none is hit on purpose")
    for exchange in limited:
        reported = exchange.headers.get("retry-after")
        require(
            exchange, int_header(reported) is not None, "Retry-After in seconds", reported or "none"
        )


def no_fault(probe: Probe) -> None:
    for exchange in _answers(probe):
        switched_off = exchange.status == 503
        fine = exchange.status < 500 or switched_off
        require(exchange, fine, "no fault of the server", summary(exchange))


def _answers(probe: Probe) -> list[Exchange]:
    return probe.exchanges


def _errors(probe: Probe) -> list[Exchange]:
    """At least one: an unknown message is asked for."""
    probe.caller.call("GET", f"/v1/messages/msg_{probe.nonce}-0")
    return [exchange for exchange in probe.exchanges if exchange.status >= 400]


def _times(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what must be a time."""
    if isinstance(value, dict):
        for name, item in value.items():
            is_time = name.endswith("_at") or name in ("at", "resume_by")
            if is_time and item is not None:
                yield name, item
            if name != "metadata":
                yield from _times(item)
    elif isinstance(value, list):
        for item in value:
            yield from _times(item)


GROUP = Group(
    "every-answer",
    "what holds for each answer",
    (
        Check("request-ids", "Every answer has a Request-Id of its own.",
              "What the service does 6", request_ids),
        Check("error-shape", "Every error has code, message, request_id and docs.", "Errors",
              error_shape),
        Check("same-id-in-body", "An error's request_id is the answer's Request-Id.", "Errors",
              same_id_in_body),
        Check("budget", "Every answer to a key tells its budget.", "Limits", budget),
        Check("times", "Times are UTC with microseconds and Z.", "What the service does 6",
              times),
        Check("json-type", "Answers are JSON and say so.", "What the service does 6", json_type),
        Check("retry-after", "Every 429 says when to come again.", "Errors", retry_after),
        Check("no-fault", "Nothing asked made the server fail.", "Errors", no_fault),
    ),
)  # fmt: skip
