"""The event log of a message (spec: listMessageEvents, Message event log)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from urllib.parse import quote

from agentpost.domain.limits import WAIT_SECONDS_MAX
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    names_field,
    refused,
    require,
    summary,
)

LEAST_SECONDS = 0.99
"""Of an empty answer: a second, less what clocks may differ."""
OVERLAP_SECONDS = 3
MEETINGS_MAX = 5
PAGES_MAX = 50


def page_at(probe: Probe, message_id: str, cursor: str | None = None, wait: int = 0) -> Exchange:
    """A page of the log, whatever comes."""
    query = f"&cursor={quote(cursor, safe='')}" if cursor is not None else ""
    path = f"/v1/messages/{message_id}/events?wait={wait}{query}"
    return probe.caller.call("GET", path, held_seconds=max(wait, 1))


def log_of(probe: Probe, message_id: str) -> tuple[list[Json], Exchange]:
    """All entries of a final message, and its last page."""
    entries: list[Json] = []
    cursor = None
    for _ in range(PAGES_MAX):
        exchange = page_at(probe, message_id, cursor)
        page = usable(exchange, 200)
        entries += page.get("data") or []
        cursor = page.get("cursor")
        if page.get("done") is True or not page.get("has_more"):
            return entries, exchange
    raise NotChecked(f"the log continues after {PAGES_MAX} pages")


def greeting_log(probe: Probe) -> tuple[list[Json], Exchange]:
    """The log of the message most checks look at."""
    return probe.sample("event log", lambda: log_of(probe, probe.greeting()["id"]))


def end_cursor(probe: Probe) -> str:
    """The cursor behind the last entry of that log."""
    return str(usable(greeting_log(probe)[1], 200).get("cursor"))


def fields(probe: Probe) -> None:
    exchange = page_at(probe, probe.greeting()["id"])
    shaped(exchange, shapes.EVENT_LIST, expect_status(exchange, 200))


def in_order(probe: Probe) -> None:
    judge_order(*greeting_log(probe))


def judge_order(entries: list[Json], exchange: Exchange) -> None:
    """Raise a `Difference` unless the entries of a whole log are in order."""
    numbers = [entry.get("seq", 0) for entry in entries]
    grows = all(before < after for before, after in pairwise(numbers))
    require(exchange, bool(numbers) and grows, "entries with growing seq", numbers)
    times = [str(entry.get("at")) for entry in entries]
    require(exchange, times == sorted(times), "entries from old to new", times)


def own_entries(probe: Probe) -> None:
    judge_owner(*greeting_log(probe), probe.greeting()["id"])


def judge_owner(entries: list[Json], exchange: Exchange, message_id: str) -> None:
    """Raise a `Difference` when an entry is said to be another message's."""
    others = [e["message_id"] for e in entries if e.get("message_id", message_id) != message_id]
    require(exchange, not others, "entries of this message only", others)


def reply_is_there(probe: Probe) -> None:
    reply = probe.greeting().get("reply")
    if not reply:
        raise NotChecked("the agent gave no reply")
    entries, exchange = greeting_log(probe)
    said = [entry.get("text") for entry in entries if entry.get("type") == "agent_reply"]
    reported = len(said) == 1 and said[0] == reply
    reported = reported or (len(said) > 1 and all(str(text) in reply for text in said))
    require(exchange, reported, f"agent_reply with the message's reply {reply!r}", said)


def done(probe: Probe) -> None:
    page = usable(greeting_log(probe)[1], 200)
    reported = (page.get("done"), page.get("has_more"))
    require(greeting_log(probe)[1], reported == (True, False), "done, and nothing more", reported)


def _end_page(probe: Probe) -> Exchange:
    """What comes behind the last entry."""

    def make() -> Exchange:
        return page_at(probe, probe.greeting()["id"], end_cursor(probe))

    return probe.sample("page behind the log", make)


def goes_on(probe: Probe) -> None:
    exchange = _end_page(probe)
    page = expect_status(exchange, 200)
    require(exchange, page.get("data") == [], "nothing behind the last entry", page.get("data"))


def least_second(probe: Probe) -> None:
    exchange = _end_page(probe)
    if usable(exchange, 200).get("data"):
        raise NotChecked("the page has entries")
    took = exchange.took
    require(exchange, took >= LEAST_SECONDS, "a wait of a second", f"an answer after {took:.2f} s")


def wait_bounds(probe: Probe) -> None:
    message_id = usable(probe.greeting_sent(), 201)["id"]
    for wait in (str(WAIT_SECONDS_MAX + 1), "-1"):
        path = f"/v1/messages/{message_id}/events?wait={wait}"
        names_field(probe.caller.call("GET", path, held_seconds=WAIT_SECONDS_MAX), "wait")


def bad_cursor(probe: Probe) -> None:
    refused(page_at(probe, probe.greeting()["id"], "verify"), 400, "bad_cursor")


def one_at_a_time(probe: Probe) -> None:
    """Both wait behind the last entry; a second at least, so that they meet."""
    message_id, cursor = probe.greeting()["id"], end_cursor(probe)

    def wait(_: int) -> Exchange:
        return page_at(probe, message_id, cursor, OVERLAP_SECONDS)

    for _ in range(MEETINGS_MAX):
        with ThreadPoolExecutor(2) as pool:
            first, second = sorted(pool.map(wait, range(2)), key=lambda each: each.status)
        if second.status != 200 or _certainly_met(first, second):
            break
    else:
        raise NotChecked("the two calls did not meet")
    if first.status != 200:
        differs(first, "one of two waits to be answered", summary(first))
    reported = refused(second, 409, "poll_in_progress").get("cursor")
    require(second, isinstance(reported, str), "a cursor to go on from", reported)
    expect_status(page_at(probe, message_id, reported), 200)


def _certainly_met(first: Exchange, second: Exchange) -> bool:
    """Whether both waits were held at one moment, wherever in its call each of them was held.

    A call may be late on its way to the server, so that it begins to be held when the other one has
    ended. Two waits of a second cannot have missed each other within less than two.
    """
    least = min(first.took, second.took)
    ended = max(each.began + each.took for each in (first, second))
    span = ended - min(first.began, second.began)
    return least >= LEAST_SECONDS and span < 2 * LEAST_SECONDS


def unknown(probe: Probe) -> None:
    refused(page_at(probe, f"msg_{probe.nonce}"), 404, "not_found")


GROUP = Group(
    "events",
    "the event log",
    (
        Check("fields", "A page of the log and its entries have every field.", "EventList", fields),
        Check("in-order", "Entries come oldest first, with growing numbers.",
              "listMessageEvents", in_order),
        Check("own-entries", "A log has the entries of its message only.",
              "Message event log", own_entries),
        Check("reply-is-there", "The log tells the same reply as the message.",
              "What the service does 3", reply_is_there),
        Check("done", "The log of a final message says that it is done.",
              "listMessageEvents", done),
        Check("goes-on", "A cursor continues after the last entry seen.",
              "listMessageEvents", goes_on),
        Check("least-second", "An empty page comes after a second at least.",
              "listMessageEvents", least_second),
        Check("wait-bounds", "wait is 0 to 45 here, too.", "Limits", wait_bounds),
        Check("bad-cursor", "An unknown cursor is bad_cursor.", "Errors", bad_cursor),
        Check("one-at-a-time", "A second wait at once is poll_in_progress, with a cursor.",
              "listMessageEvents", one_at_a_time),
        Check("unknown", "The log of an unknown message is not_found.",
              "listMessageEvents", unknown),
    ),
    sends=("greeting",),
)  # fmt: skip
