"""The webhook events as the OpenAPI document lists them under ``webhooks`` (spec: Webhook
events)."""

from typing import Any

from agentpost.api.header_docs import TRACEPARENT, Header
from agentpost.record.events import TEST_EVENT, EventName
from agentpost.webhooks.event_shapes import EVENTS, shape_of

WHEN: dict[str, str] = {
    EventName.MESSAGE_COMPLETED: "A message was answered, and all it started is done.",
    EventName.MESSAGE_PARTIAL: "Some of a message's jobs are done, others are not.",
    EventName.MESSAGE_FAILED: "A message has failed.",
    EventName.MESSAGE_NEEDS_INPUT: "The agent has asked a question and waits.",
    EventName.MESSAGE_BLOCKED: "A message is blocked; `final` tells whether its work can go on.",
    EventName.MESSAGE_EXPIRED: "The work of a message did not report back in time.",
    EventName.JOB_COMPLETED: "A job is done.",
    EventName.JOB_FAILED: "A job has failed or was stopped.",
    EventName.JOB_BLOCKED: "A job was refused, or waits for credits.",
    EventName.JOB_RESUMED: "A job that waited for credits continues.",
    EventName.JOB_EXPIRED: "A job waited or ran for too long.",
    TEST_EVENT: "Somebody wants to see whether the endpoint works.",
}
ABOUT = (
    "Verify the signature over the raw body, with the endpoint's `secret`, before you read it"
    " (Standard Webhooks). Answer with any 2xx within 10 seconds; everything else is tried again,"
    " up to once a day. Events may come twice and in any order: `webhook-id` tells them apart."
)
HEADERS = (
    Header("webhook-id", "The event; the same at every attempt.", "evt_0660c545b410f5f5761497037f"),
    Header("webhook-timestamp", "When this attempt was signed, in Unix seconds.", 1769851800),
    Header(
        "webhook-signature",
        "`v1,` and the signature in base64. Spaces separate several; one that fits is enough.",
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
)


TAG = "webhook_events"
"""Not the tag of the endpoints' operations: generators write one file for each tag, and write the
events apart from the operations, so one file would replace the other."""
TRACE = Header(
    TRACEPARENT.name, "The trace context the message came with, if any.", TRACEPARENT.example
)


def webhooks() -> dict[str, Any]:
    """The description's ``webhooks``: one for each event that may be sent."""
    return {name: {"post": _event(name)} for name in EVENTS}


def _event(name: str) -> dict[str, Any]:
    about, _, what = name.partition(".")
    schema = {"$ref": f"#/components/schemas/{shape_of(name).__name__}"}
    return {
        "operationId": f"on{about.title()}{what.title().replace('_', '')}",
        "tags": [TAG],
        "x-internal": True,  # so openapi-generator makes no client that calls our receivers
        "summary": name,
        "description": f"{WHEN[name]} {ABOUT}",
        "security": [],
        "parameters": [*(each.parameter(True) for each in HEADERS), TRACE.parameter(False)],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"2XX": {"description": "Received."}},
    }
