"""The event log of a message (spec: listMessageEvents, Message event log)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import WAIT_SECONDS_MAX, Log, one_answer, page_at

LEAST_SECONDS = 0.99
"""Of an empty answer: a second, less what clocks may differ."""
OVERLAP_SECONDS = 3
MEETINGS_MAX = 5


test_fields = one_answer(
    "A page of the log and its entries have every field. (EventList)",
    "200", "GET /v1/messages/{greeting[id]}/events?wait=0", shape=shapes.EVENT_LIST,
)  # fmt: skip


def test_in_order(greeting_log: Log) -> None:
    """Entries come oldest first, with growing numbers. (listMessageEvents)"""
    expect_order(greeting_log)


def expect_order(log: Log) -> None:
    """Assert that the entries of a whole log are in order."""
    entries, exchange = log
    numbers = [entry.get("seq", 0) for entry in entries]
    assert numbers != [], f"entries in {exchange.line}"
    assert numbers == sorted(set(numbers)), "entries with growing seq"
    times = [str(entry.get("at")) for entry in entries]
    assert times == sorted(times), "entries from old to new"


def test_own_entries(greeting_log: Log, greeting: Json) -> None:
    """A log has the entries of its message only. (Message event log)"""
    expect_owner(greeting_log, greeting["id"])


def expect_owner(log: Log, message_id: str) -> None:
    """Assert that no entry is said to be another message's."""
    entries, exchange = log
    others = [each for each in entries if each.get("message_id", message_id) != message_id]
    assert others == [], f"entries of this message only in {exchange.line}"


def test_reply_is_there(greeting_log: Log, greeting: Json) -> None:
    """The log tells the same reply as the message. (What the service does 3)"""
    reply = greeting.get("reply")
    if not reply:
        pytest.skip("the agent gave no reply")
    entries, exchange = greeting_log
    texts = [str(entry.get("text")) for entry in entries if entry.get("type") == "agent_reply"]
    assert texts != [], f"agent_reply with the reply of {exchange.line}: {reply!r}"
    parts = texts if len(texts) == 1 else [text for text in texts if text not in reply]
    assert parts in ([reply], []), f"agent_reply with the message's reply {reply!r}"


def test_done(greeting_log: Log) -> None:
    """The log of a final message says that it is done. (listMessageEvents)"""
    page = greeting_log[1].sample()
    state = (page.get("done"), page.get("has_more"))
    assert state == (True, False), "done, and nothing more"


@pytest.fixture(scope="session")
def cursor(greeting_log: Log) -> object:
    """What leads behind the last entry."""
    return greeting_log[1].sample().get("cursor")


@pytest.fixture(scope="session")
def end_page(probe: Probe, greeting: Json, cursor: object) -> Exchange:
    """What comes behind the last entry."""
    return page_at(probe, greeting["id"], cursor)


def test_goes_on(end_page: Exchange) -> None:
    """A cursor continues after the last entry seen. (listMessageEvents)"""
    assert end_page.expect("200").get("data") == [], "nothing behind the last entry"


def test_least_second(end_page: Exchange) -> None:
    """An empty page comes after a second at least. (listMessageEvents)"""
    if end_page.sample().get("data"):
        pytest.skip("the page has entries")
    assert end_page.took >= LEAST_SECONDS, "a wait of a second"


test_wait_bounds = one_answer(
    "wait is 0 to 45 here, too. (Limits)",
    "400 invalid_request",
    *((f"GET /v1/messages/{{greeting_id}}/events?wait={wait}", None, "wait") for wait in (46, -1)),
    held_seconds=WAIT_SECONDS_MAX,
)
test_bad_cursor = one_answer(
    "An unknown cursor is bad_cursor. (Errors)",
    "400 bad_cursor", "GET /v1/messages/{greeting[id]}/events?wait=0&cursor=verify",
)  # fmt: skip


def test_one_at_a_time(probe: Probe, greeting: Json, cursor: object) -> None:
    """A second wait at once is poll_in_progress, with a cursor. (listMessageEvents)

    Both wait behind the last entry; a second at least, so that they meet. Whether waits that were
    both answered were held at one moment is certain only when two of a second cannot have missed
    each other: a call may be late on its way to the server.
    """

    def wait(_: int) -> Exchange:
        return page_at(probe, greeting["id"], cursor, OVERLAP_SECONDS)

    for _ in range(MEETINGS_MAX):
        with ThreadPoolExecutor(2) as pool:
            first, exchange = sorted(pool.map(wait, range(2)), key=lambda each: each.status)
        least = min(first.took, exchange.took)
        end = max(each.began + each.took for each in (first, exchange))
        span = end - min(first.began, exchange.began)
        if exchange.status != 200 or (least >= LEAST_SECONDS and span < 2 * LEAST_SECONDS):
            break
    else:
        pytest.skip("the two calls did not meet")
    first.expect("200")
    refusal = exchange.expect("409 poll_in_progress")
    assert type(refusal.get("cursor")) is str, "a cursor to go on from"
    page_at(probe, greeting["id"], refusal["cursor"]).expect("200")


test_unknown = one_answer(
    "The log of an unknown message is not_found. (listMessageEvents)",
    "404 not_found", "GET /v1/messages/msg_{nonce}/events?wait=0",
)  # fmt: skip
