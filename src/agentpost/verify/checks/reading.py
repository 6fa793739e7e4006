"""Reading a message and waiting for it (spec: getMessage)."""

from __future__ import annotations

from agentpost.domain.limits import WAIT_SECONDS_MAX
from agentpost.verify import shapes
from agentpost.verify.check import ADDITION, Check, Group, shaped
from agentpost.verify.comparison import without_links
from agentpost.verify.probe import Probe, usable
from agentpost.verify.verdicts import (
    NotChecked,
    expect_status,
    names_field,
    refused,
    require,
    shown,
    summary,
)

AT_ONCE_SECONDS = 10.0
"""Much less than the wait asked for, and enough for a slow network."""


def fields(probe: Probe) -> None:
    sent = usable(probe.greeting_sent(), 201)
    exchange = probe.read(sent["id"])
    body = expect_status(exchange, 200)
    shaped(exchange, shapes.MESSAGE, body)
    require(exchange, body["id"] == sent["id"], f"the message {sent['id']}", body["id"])


def unknown(probe: Probe) -> None:
    refused(probe.caller.call("GET", f"/v1/messages/msg_{probe.nonce}"), 404, "not_found")


def wait_bounds(probe: Probe) -> None:
    message_id = usable(probe.greeting_sent(), 201)["id"]
    for wait in (str(WAIT_SECONDS_MAX + 1), "-1", "1.5", "soon"):
        path = f"/v1/messages/{message_id}?wait={wait}"
        names_field(probe.caller.call("GET", path, held_seconds=WAIT_SECONDS_MAX), "wait")


def final_at_once(probe: Probe) -> None:
    exchange = probe.read(probe.greeting()["id"], WAIT_SECONDS_MAX)
    expect_status(exchange, 200)
    took = exchange.took
    require(exchange, took < AT_ONCE_SECONDS, "an answer at once", f"one after {took:.1f} s")


def final_stays(probe: Probe) -> None:
    final = probe.greeting()
    exchange = probe.read(final["id"])
    same = without_links(expect_status(exchange, 200)) == without_links(final)
    require(exchange, same, "a final message not to change", shown(exchange.json()))


def etag(probe: Probe) -> None:
    message_id = probe.greeting()["id"]
    first = probe.read(message_id)
    tag = first.headers.get("etag")
    if tag is None:
        raise NotChecked("this deployment sends no ETag, which agentpost adds to the API")
    path = f"/v1/messages/{message_id}"
    seen = probe.caller.call("GET", path, headers={"If-None-Match": tag})
    require(seen, seen.status == 304 and not seen.body, "an empty 304", summary(seen))
    expect_status(probe.caller.call("GET", path, headers={"If-None-Match": '"other"'}), 200)


GROUP = Group(
    "reading",
    "reading and waiting",
    (
        Check("fields", "A message is read as it was sent, with every field.", "Message", fields),
        Check("unknown", "An unknown message is not_found.", "getMessage", unknown),
        Check(
            "wait-bounds", "wait is a whole number from 0 to 45.", "Limits", wait_bounds
        ),
        Check(
            "final-at-once", "A final message is not waited for.", "getMessage", final_at_once
        ),
        Check("final-stays", "A final message does not change.", "Message", final_stays),
        Check(
            "etag", "A request with the newest ETag is answered with 304.", ADDITION, etag
        ),
    ),
    sends=("greeting",),
)  # fmt: skip
