"""Who may come in (spec: Authentication)."""

from __future__ import annotations

from agentpost.verify.check import Check, Group
from agentpost.verify.probe import Probe
from agentpost.verify.verdicts import expect_status, refused

GUARDED = (
    ("GET", "/v1/me"),
    ("GET", "/v1/messages/msg_unknown"),
    ("GET", "/v1/messages/msg_unknown/events"),
    ("POST", "/v1/messages/msg_unknown/recover"),
    ("POST", "/v1/uploads"),
    ("POST", "/v1/uploads/up_unknown/complete"),
    ("GET", "/v1/work"),
    ("GET", "/v1/work/wrk_unknown"),
    ("GET", "/v1/files/wrk_unknown/a.txt"),
    ("GET", "/v1/webhooks"),
    ("POST", "/v1/webhooks"),
    ("DELETE", "/v1/webhooks/whe_unknown"),
)


def missing_key(probe: Probe) -> None:
    refused(probe.caller.stranger("GET", "/v1/me", None), 401, "unauthorized")


def unknown_key(probe: Probe) -> None:
    unknown = f"Bearer svc_key_verify-{probe.nonce}"
    refused(probe.caller.stranger("GET", "/v1/me", unknown), 401, "unauthorized")


def other_scheme(probe: Probe) -> None:
    exchange = probe.caller.stranger("GET", "/v1/me", probe.caller.authorization("Basic"))
    refused(exchange, 401, "unauthorized")


def scheme_case(probe: Probe) -> None:
    for scheme in ("bearer", "BEARER"):
        authorization = probe.caller.authorization(scheme)
        expect_status(probe.caller.stranger("GET", "/v1/me", authorization, known=True), 200)


def key_first(probe: Probe) -> None:
    exchange = probe.caller.stranger("POST", "/v1/messages", None, raw=b"{no json")
    refused(exchange, 401, "unauthorized")


def every_route(probe: Probe) -> None:
    for method, path in GUARDED:
        refused(probe.caller.stranger(method, path, None), 401, "unauthorized")


GROUP = Group(
    "authentication",
    "who may come in",
    (
        Check(
            "missing-key", "A request without a key is refused.", "Authentication 3", missing_key
        ),
        Check(
            "unknown-key", "An unknown key is refused.", "Authentication 3", unknown_key
        ),
        Check(
            "other-scheme", "The key counts with the Bearer scheme only.", "Authentication 1",
            other_scheme,
        ),
        Check(
            "scheme-case", "The word Bearer may be written in any case.", "RFC 9110, 11.1",
            scheme_case,
        ),
        Check(
            "key-first", "A stranger learns nothing about a body that is wrong.", "Endpoints",
            key_first,
        ),
        Check("every-route", "Every kind of route asks for a key.", "Endpoints", every_route),
    ),
)  # fmt: skip
