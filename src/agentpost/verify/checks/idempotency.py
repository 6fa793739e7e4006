"""The same order, sent again (spec: createMessage 1, 2)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from agentpost.domain.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX
from agentpost.verify.check import Check, Group
from agentpost.verify.checks.messages import LONG_KEY, longest_sent, longest_text
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import GREETING, Probe, usable
from agentpost.verify.verdicts import differs, expect_status, refused, require, summary

AT_ONCE = 3


def replay(probe: Probe) -> None:
    _is_the_greeting(probe, {"message": GREETING})


def trimmed(probe: Probe) -> None:
    _is_the_greeting(probe, {"message": f"  {GREETING}\n"})


def _is_the_greeting(probe: Probe, body: dict[str, str]) -> None:
    first = usable(probe.greeting_sent(), 201)["id"]
    exchange = probe.post(body, probe.key_named("greeting"))
    _is(exchange, first)


def _is(exchange: Exchange, message_id: str) -> None:
    found = expect_status(exchange, 200).get("id")
    require(exchange, found == message_id, f"the message {message_id} again", found)


def conflict(probe: Probe) -> None:
    usable(probe.greeting_sent(), 201)
    exchange = probe.post({"message": f"{GREETING}, again"}, probe.key_named("greeting"))
    refused(exchange, 409, "idempotency_conflict")


def without_key(probe: Probe) -> None:
    first = usable(probe.greeting_sent(), 201)["id"]
    exchange = probe.send(GREETING)
    found = expect_status(exchange, 201).get("id")
    require(exchange, found != first, "a message of its own", f"{found} again")


def at_once(probe: Probe) -> None:
    """The first may still run when the others come."""
    key = probe.key_named("at-once")
    body = {"message": GREETING, "conversation": key[:100]}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        exchanges = list(pool.map(lambda _: probe.post(body, key), range(AT_ONCE)))
    statuses = sorted(exchange.status for exchange in exchanges)
    if statuses != [200, 200, 201]:
        reported = ", ".join(summary(exchange) for exchange in exchanges)
        differs(exchanges[0], "one 201 and otherwise 200", reported)
    ids = {str(expect_status(exchange, 200, 201).get("id")) for exchange in exchanges}
    require(exchanges[0], len(ids) == 1, "one message", sorted(ids))


def key_is_cut(probe: Probe) -> None:
    first = usable(longest_sent(probe), 201)["id"]
    cut = probe.key_named(LONG_KEY)[:IDEMPOTENCY_KEY_CHARACTERS_MAX]
    _is(probe.post({"message": longest_text()}, cut), first)


GROUP = Group(
    "idempotency",
    "the same order, sent again",
    (
        Check(
            "replay", "The same key and body give the same message, with 200.",
            "createMessage 2", replay,
        ),
        Check(
            "trimmed", "Blanks around the text don't make it another body.", "createMessage 2",
            trimmed,
        ),
        Check(
            "conflict", "The same key with another body is idempotency_conflict.",
            "createMessage 2", conflict,
        ),
        Check(
            "without-key", "Without a key every call makes a message.", "createMessage 1",
            without_key,
        ),
        Check(
            "at-once", "Of calls at once with one key, one makes the message.",
            "createMessage 2", at_once,
        ),
        Check("key-is-cut", "Only 128 characters of a key are significant.", "Limits", key_is_cut),
    ),
    sends=("greeting", "greeting again", "at once", "longest"),
)  # fmt: skip
