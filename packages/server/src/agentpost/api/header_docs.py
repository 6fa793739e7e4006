"""The headers of the API as the OpenAPI document describes them (spec: Errors; Limits
RateLimit-headers).

`admission`, `errors` and the handlers send them; black-box tests compare every response with these
descriptions.
"""

from dataclasses import dataclass
from typing import Any

from agentpost.domain import limits


@dataclass(frozen=True, slots=True)
class Header:
    """A header of requests or answers; ``example`` is also what tells a number from a text."""

    name: str
    description: str
    example: str | int

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        if isinstance(self.example, int):
            return {"type": "integer", "minimum": 0}
        return {"type": "string"}

    def parameter(self, required: bool) -> dict[str, Any]:
        """Its description as a parameter of a request."""
        parameter = parameter_of(self.name, "header", self.schema(), self.description)
        return {**parameter, "required": required, "example": self.example}


def parameter_of(name: str, where: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    """The description of a parameter; those in the path are required."""
    return {
        "name": name,
        "in": where,
        "required": where == "path",
        "schema": schema,
        "description": description,
    }


# --- requests -------------------------------------------------------------------------------------
IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "Makes the call safe to repeat: for seven days the same key with the same body answers with"
    " the one message there is. Any text, such as the id of the order; only its first"
    f" {limits.IDEMPOTENCY_KEY_CHARACTERS_MAX} characters are significant.",
    "order-1042",
)
IF_NONE_MATCH = Header(
    "If-None-Match",
    "The `ETag` you have. If nothing is newer, the answer is 304 without a body; with `wait` the"
    " call is held until something is newer.",
    '"v3"',
)
TRACEPARENT = Header(
    "traceparent",
    "W3C trace context of the caller. It is kept with the message and given back with it; one that"
    " is not valid is ignored.",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
LAST_EVENT_ID = Header(
    "Last-Event-ID",
    "Where a stream continues: the `id` of the last event that was received. Browsers send it by"
    " themselves when they come back; it counts more than `cursor`.",
    "eyJzIjoyfQ.4f1c",
)

# --- answers --------------------------------------------------------------------------------------
REQUEST_ID = Header(
    "Request-Id", "Names this request in the server's log.", "req_0660c545b410f5f5761497037f1afa21"
)
BUDGET = (
    Header("RateLimit-Limit", "Requests a minute this key can send.", 600),
    Header("RateLimit-Remaining", "How many of them are left.", 599),
    Header("RateLimit-Reset", "Seconds until the oldest counted request no longer counts.", 60),
)
RETRY_AFTER = Header("Retry-After", "Seconds to wait before the request is sent again.", 60)
ETAG = Header("ETag", "The message's `version`, for `If-None-Match`.", '"v3"')
REPLAYED = Header(
    "Idempotent-Replayed", "The `Idempotency-Key` is known: this is the message it made.", "true"
)
AUTHENTICATE = Header("WWW-Authenticate", "The scheme to authenticate with.", "Bearer")

ANSWERED = (REQUEST_ID, *BUDGET, RETRY_AFTER, ETAG, REPLAYED, AUTHENTICATE)
"""All that an answer may carry; each is described once, in the components."""


def components() -> dict[str, Any]:
    """The description's ``components.headers``."""
    return {
        header.name: {
            "description": header.description,
            "required": True,
            "schema": header.schema(),
            "example": header.example,
        }
        for header in ANSWERED
    }


def of_answer(status: int, more: tuple[Header, ...] = ()) -> dict[str, Any]:
    """The headers of an answer with this status, each a reference; ``more``: besides the usual.
    Only a live key has a budget, and a server error may happen before the key is looked up."""
    headers = [REQUEST_ID, *more]
    if status not in (401, 500):
        headers += BUDGET
    if status == 401:
        headers.append(AUTHENTICATE)
    if status == 429:
        headers.append(RETRY_AFTER)
    by_name: dict[str, Any] = {h.name: {"$ref": f"#/components/headers/{h.name}"} for h in headers}
    if status == 500:
        by_name |= {h.name: {**components()[h.name], "required": False} for h in BUDGET}
    return by_name
