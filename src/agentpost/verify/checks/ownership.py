"""What belongs to a key and what to its account (spec: Authentication 4). Needs a second key."""

from __future__ import annotations

from urllib.parse import quote

from agentpost.verify.check import Check, Group
from agentpost.verify.checks.events import end_cursor
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import GREETING, Probe, usable
from agentpost.verify.verdicts import Json, NotChecked, expect_status, refused, require


def foreign_message(probe: Probe) -> None:
    path = f"/v1/messages/{_ours(probe)['id']}"
    for method, route in (("GET", path), ("GET", f"{path}/events"), ("POST", f"{path}/recover")):
        refused(probe.second.call(method, route), 404, "not_found")


def key_of_its_own(probe: Probe) -> None:
    exchange = _theirs_sent(probe)
    found = expect_status(exchange, 201).get("id")
    require(exchange, found != _ours(probe)["id"], "a message of its own", found)


def foreign_cursor(probe: Probe) -> None:
    probe.second  # noqa: B018 - says what is needed before anything is sent
    cursor = quote(end_cursor(probe), safe="")
    message_id = usable(_theirs_sent(probe), 201)["id"]
    exchange = probe.second.call(
        "GET", f"/v1/messages/{message_id}/events?cursor={cursor}", held_seconds=1
    )
    refused(exchange, 400, "bad_cursor")


def endpoints_of_account(probe: Probe) -> None:
    probe.second  # noqa: B018
    _belongs_to_account(probe, f"/v1/webhooks/{probe.endpoint()['id']}")


def work_of_account(probe: Probe) -> None:
    probe.second  # noqa: B018
    _belongs_to_account(probe, f"/v1/work/{probe.job_done()['jobs'][0]['work_id']}")


def _belongs_to_account(probe: Probe, path: str) -> None:
    """Another key of the account sees it, any other key does not."""
    exchange = probe.second.call("GET", path)
    if _same_account(probe):
        expect_status(exchange, 200)
    else:
        refused(exchange, 404, "not_found")


def _same_account(probe: Probe) -> bool:
    ours = usable(probe.caller.call("GET", "/v1/me"), 200)
    theirs = usable(probe.second.call("GET", "/v1/me"), 200)
    if _key(ours) == _key(theirs):
        raise NotChecked("--second-key is the same key as --key")
    return bool(ours.get("user_id") == theirs.get("user_id"))


def _key(account: Json) -> object:
    key = account.get("key")
    return key.get("id") if isinstance(key, dict) else None


def _ours(probe: Probe) -> Json:
    _same_account(probe)
    return usable(probe.greeting_sent(), 201)


def _theirs_sent(probe: Probe) -> Exchange:
    """The second key sends what the first one did, under the same Idempotency-Key."""
    _ours(probe)
    key = probe.key_named("greeting")
    return probe.sample("answer to the second key", lambda: probe.send(GREETING, key, probe.second))


GROUP = Group(
    "ownership",
    "what belongs to a key, and what to its account",
    (
        Check("foreign-message", "A message is not there for another key.",
              "createMessage 6", foreign_message),
        Check("key-of-its-own", "An Idempotency-Key counts for its API key only.",
              "createMessage 2", key_of_its_own),
        Check("foreign-cursor", "A cursor given to another key is bad_cursor.", "Errors",
              foreign_cursor),
        Check("endpoints-of-account", "Webhook endpoints belong to the account.",
              "Authentication 4", endpoints_of_account),
        Check("work-of-account", "Works belong to the account.", "Authentication 4",
              work_of_account),
    ),
    sends=("greeting", "of the second key", "job"),
    needs="second key",
)  # fmt: skip
