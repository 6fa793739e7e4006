"""What agentpost adds to the API: the account's events and requests, filters of messages, typed
questions and outputs by schema.

A deployment that has none of it answers the routes with 404 and ignores the fields; then nothing of
it is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentpost.verify.check import ADDITION, Check, Group
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import CSV, GREETING, Probe, inline, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    expect_status,
    names_field,
    refused,
    require,
    shown,
    summary,
)

NOT_FOUND: Final = 404
CREATED: Final = 201
PAGES: Final = 20
SCHEMA: Final[Json] = {"type": "object", "required": ["verified"]}


def there(exchange: Exchange) -> Json:
    """The body of a route that a deployment may lack."""
    if exchange.status == NOT_FOUND:
        raise NotChecked("the deployment does not have it")
    return expect_status(exchange, 200)


def with_schema(probe: Probe) -> tuple[str, Json]:
    """A cursor of the account's events, and the final message with a schema sent behind it."""

    def make() -> tuple[str, Json]:
        begun = there(probe.caller.call("GET", "/v1/events"))
        sent = usable(probe.send(GREETING, response_schema=SCHEMA), CREATED)
        return str(begun.get("cursor")), probe.final(sent["id"])

    return probe.sample("message with a schema", make)


def account_events(probe: Probe) -> None:
    cursor, message = with_schema(probe)
    for _ in range(PAGES):  # an account in use has events of others as well
        exchange = probe.caller.call("GET", f"/v1/events?cursor={cursor}")
        page = expect_status(exchange, 200)
        about = [(event.get("data") or {}).get("id") for event in page.get("data") or []]
        if message["id"] in about:
            return
        cursor = str(page.get("cursor"))
        require(exchange, page.get("has_more") is True, f"an event of {message['id']}", "none")
    raise NotChecked(f"there were too many other events: {PAGES} pages")


def any_cursor(probe: Probe) -> None:
    there(probe.caller.call("GET", "/v1/events"))
    refused(probe.caller.call("GET", "/v1/events?cursor=nowhere"), 400, "bad_cursor")


def output(probe: Probe) -> None:
    _, message = with_schema(probe)
    if "output" not in message:
        raise NotChecked("the deployment does not have it")
    made = message["output"]
    if made is None and message.get("status") != "completed":
        raise NotChecked("not proven here: the agent gives no output")
    exchange = probe.read(message["id"])
    fits = isinstance(made, dict) and "verified" in made
    require(exchange, fits, f"an output for {SCHEMA}, or a message that failed", shown(made))


def bad_schema(probe: Probe) -> None:
    exchange = probe.send(GREETING, response_schema={"type": 5})
    if exchange.status == CREATED:
        raise NotChecked("the deployment does not have it, or takes every schema")
    names_field(exchange, "response_schema")


def unknown_question(probe: Probe) -> None:
    exchange = probe.send(GREETING, answer_to=f"msg_{probe.nonce}", answer="yes")
    if exchange.status == CREATED:
        raise NotChecked("the deployment does not have it")
    refused(exchange, 404, "not_found")


def typed_question(probe: Probe) -> None:
    files = [inline("sales.csv", CSV)]
    asked = probe.final(usable(probe.send("Here is a file.", files=files), CREATED)["id"])
    wanted = asked.get("answer_format")
    if not isinstance(wanted, Mapping) or not wanted.get("choices"):
        raise NotChecked("not proven here: the agent asked nothing that has choices")
    wrong = {"answer_to": asked["id"], "answer": f"verify-{probe.nonce}"}
    names_field(probe.post(wrong), "answer")
    right = {**wrong, "answer": wanted["choices"][0]}
    probe.final(expect_status(probe.post(right), CREATED)["id"])
    names_field(probe.post(right), "answer_to")


def requests(probe: Probe) -> None:
    exchange = probe.caller.call("GET", "/v1/requests?limit=2")
    page = there(exchange)
    listed = page.get("data")
    is_list = isinstance(listed, list) and len(listed) <= 2
    require(exchange, is_list, "a list of up to 2 requests", summary(exchange))


def filters(probe: Probe) -> None:
    """By the greeting's status, and by a conversation that nobody has."""
    final = probe.greeting()
    exchange = probe.caller.call("GET", f"/v1/messages?status={final['status']}&limit=50")
    found = there(exchange).get("data") or []
    others = {item.get("status") for item in found} - {final["status"]}
    require(
        exchange, not others, f"only {final['status']} messages", shown(sorted(others, key=str))
    )
    name = f"verify-{probe.nonce}-nobody"
    exchange = probe.caller.call("GET", f"/v1/messages?conversation={name}")
    none = not there(exchange).get("data")
    require(exchange, none, "no message of a new conversation", summary(exchange))


def unknown_status(probe: Probe) -> None:
    there(probe.caller.call("GET", "/v1/messages?limit=1"))
    names_field(probe.caller.call("GET", "/v1/messages?status=pondering"), "status")


GROUP = Group(
    "additions",
    "what agentpost adds",
    (
        Check("events", "The account's events have those of a message.", ADDITION, account_events),
        Check("events-cursor", "A cursor that was not issued is refused.", ADDITION, any_cursor),
        Check("output", "A message with a schema gets a fitting output.", ADDITION, output),
        Check("bad-schema", "A schema that cannot be used is refused.", ADDITION, bad_schema),
        Check(
            "question", "A question takes one of its choices, once.", ADDITION, typed_question
        ),
        Check("unknown-question", "An answer needs its question.", ADDITION, unknown_question),
        Check("requests", "The requests of the key are listed.", ADDITION, requests),
        Check("filters", "Messages are filtered by status and conversation.", ADDITION, filters),
        Check("unknown-status", "A status that there is not is refused.", ADDITION, unknown_status),
    ),
    sends=("greeting", "schema", "question", "answer"),
)  # fmt: skip
