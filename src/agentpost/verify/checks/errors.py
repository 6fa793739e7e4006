"""Requests that no resource understands (spec: Errors)."""

from __future__ import annotations

from agentpost.verify.check import Check, Group
from agentpost.verify.probe import Probe
from agentpost.verify.verdicts import fields_of, refused, require, summary


def unknown_route(probe: Probe) -> None:
    refused(probe.caller.call("GET", f"/v1/verify-{probe.nonce}"), 404, "not_found")


def wrong_method(probe: Probe) -> None:
    exchange = probe.caller.call("DELETE", "/v1/me")
    require(exchange, exchange.status in (404, 405), "status 405 or 404", summary(exchange))


def invalid_json(probe: Probe) -> None:
    for raw in (b"{no json", b"\xff{}", b"[]", b'"text"'):
        exchange = probe.caller.call("POST", "/v1/messages", raw=raw)
        problems = refused(exchange, 400, "invalid_request").get("problems")
        whole = None in fields_of(problems)
        require(exchange, whole, "a problem with the whole body (field null)", problems)


def docs_link(probe: Probe) -> None:
    exchange = probe.caller.call("GET", "/v1/messages/msg_unknown")
    link = str(refused(exchange, 404, "not_found").get("docs"))
    page = probe.caller.fetch(link)
    require(page, page.status == 200, "a page behind the docs link", summary(page))
    require(page, b"not_found" in page.body, "a page that explains not_found", link)


GROUP = Group(
    "errors",
    "what cannot be understood",
    (
        Check("unknown-route", "An unknown route is not_found.", "Errors", unknown_route),
        Check("wrong-method", "A route refuses methods it has not.", "Errors", wrong_method),
        Check(
            "invalid-json", "A body that is no JSON object is invalid_request, field null.",
            "Errors", invalid_json,
        ),
        Check(
            "docs-link", "The docs link of an error leads to its explanation.", "Errors", docs_link
        ),
    ),
)  # fmt: skip
