"""Who may come in (spec: Authentication)."""

from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

UNAUTHORIZED = "401 unauthorized"

test_missing_key = one_answer(
    "A request without a key is refused. (Authentication 3)",
    UNAUTHORIZED, "GET /v1/me", authorization="",
)  # fmt: skip
test_unknown_key = one_answer(
    "An unknown key is refused. (Authentication 3)",
    UNAUTHORIZED, "GET /v1/me", authorization="Bearer svc_key_verify-unknown",
)  # fmt: skip
test_other_scheme = one_answer(
    "The key counts with the Bearer scheme only. (Authentication 1)",
    UNAUTHORIZED, "GET /v1/me", authorization="Basic {key}",
)  # fmt: skip


def test_scheme_case(probe: Probe) -> None:
    """The word Bearer may be written in any case. (RFC 9110, 11.1)"""
    for scheme in ("bearer", "BEARER"):
        probe.call("GET", "/v1/me", authorization=f"{scheme} {{key}}").expect("200")


test_key_first = one_answer(
    "A stranger learns nothing about a body that is wrong. (Endpoints)",
    UNAUTHORIZED, ("POST /v1/messages", b"{no json"), authorization="",
)  # fmt: skip
test_every_route = one_answer(
    "Every kind of route asks for a key. (Endpoints)",
    UNAUTHORIZED,
    "GET /v1/me",
    "GET /v1/messages/msg_unknown",
    "GET /v1/messages/msg_unknown/events",
    "POST /v1/messages/msg_unknown/recover",
    "POST /v1/uploads",
    "POST /v1/uploads/up_unknown/complete",
    "GET /v1/work",
    "GET /v1/work/wrk_unknown",
    "GET /v1/files/wrk_unknown/a.txt",
    "GET /v1/webhooks",
    "POST /v1/webhooks",
    "DELETE /v1/webhooks/whe_unknown",
    authorization="",
)
