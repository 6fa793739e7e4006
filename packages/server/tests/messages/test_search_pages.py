"""One search field finds what a product sent by the product's own names, and by every id."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from agentpost.accounts import actions as accounts
from agentpost.clock import new_id
from agentpost.db import filtered
from agentpost.domain import ids
from agentpost.jobs.rules import JobState
from agentpost.record.records import ConversationRecord
from agentpost.turns.conversation_rows import CONVERSATIONS
from tests.requests.test_request_pages import add_record as request_made
from tests.web.site import Site, open_site
from tests.web.test_streams import stream

MESSAGES = "/dashboard/messages"
REQUESTS = "/dashboard/requests"


@dataclass
class Sent:
    """The ids of what was sent, by a short name."""

    messages: dict[str, str] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("search")) as one:
        yield one


@pytest.fixture(scope="module")
def sent(site: Site) -> Sent:
    """Two conversations of Ann's key, and one of the same name in Bob's account."""
    ann_key = asyncio.run(accounts.create_key(site.ctx, site.ann, "checkout")).record.id
    bob = asyncio.run(accounts.create(site.ctx, "bob@example.com", "Bob")).id
    bob_key = asyncio.run(accounts.create_key(site.ctx, bob, "bob's")).record.id
    result = Sent()

    def send(name: str, account: str, key: str, conversation: str | None, **fields: str) -> None:
        site.clock.advance(1)
        cnv = result.others.get(f"{account}{conversation}")
        if cnv is None:
            cnv = new_id(ids.CONVERSATION, site.clock.now())
            record = ConversationRecord(cnv, account, key, conversation or "", site.clock.now())
            site.write(lambda tx: CONVERSATIONS.insert(tx, record))
            result.others[f"{account}{conversation}"] = cnv
        message_id = new_id(ids.MESSAGE, site.clock.now())
        site.message(
            f"Chart {name}",
            account,
            id=message_id,
            key_id=key,
            conversation_id=cnv,
            conversation=conversation,
            **fields,
        )
        result.messages[name] = message_id
        line = request_made(site, len(result.messages), account, message_id=message_id)
        result.requests[name] = line.id

    order = '{"order": "A-1027", "city": "M\\u00fcnchen"}'
    send("a", site.ann, ann_key, "customer-4711", idempotency_key="order-1", metadata_json=order)
    send("b", site.ann, ann_key, "customer-4711")
    send("c", site.ann, ann_key, "customer-4712", idempotency_key="order-2")
    send("d", site.ann, ann_key, None)
    send("of Bob", bob, bob_key, "customer-4711", idempotency_key="order-1", metadata_json=order)
    work = site.work(site.ann)
    site.job(work, JobState.COMPLETED)
    link = "UPDATE jobs SET message_id = ? WHERE work_id = ?"
    site.write(lambda tx: tx.execute(link, (result.messages["c"], work.id)))
    row = site.write(lambda tx: tx.one("SELECT id FROM jobs WHERE work_id = ?", (work.id,)))
    assert row is not None
    event, now = new_id(ids.EVENT, site.clock.now()), site.clock.now()
    of = {"account_id": site.ann, "message_id": result.messages["b"], "data_json": "{}"}
    site.insert("events", id=event, name="job.completed", at=now, **of)
    result.others.update(job=row[0], event=event, cnv=result.others[f"{site.ann}customer-4712"])
    return result


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("customer-4711", "ba"),  # exactly that conversation, however old its messages are
        (" customer-4711 ", "ba"),
        ("4711", "ba"),
        ("CUSTOMER", "cba"),
        ("customer-\0004711", "ba"),  # PostgreSQL takes no text with a NUL
        ("{cnv}", "c"),
        ("A-1027", "a"),
        ("münchen", "a"),
        ("München", "a"),
        ("order-", "ca"),
        ("chart d", "d"),
        ("customer-4713", ""),
        ("%", ""),
    ],
)
def test_names_and_texts_find_messages(site: Site, sent: Sent, text: str, found: str) -> None:
    with site.browser() as browser:
        page = browser.get(MESSAGES, params={"q": text.format(**sent.others)}).text
        requests = browser.get(REQUESTS, params={"q": text.format(**sent.others)}).text
    places = {name: page.find(f"{MESSAGES}/{id_}") for name, id_ in sent.messages.items()}
    shown = [n for _, n in sorted((place, n) for n, place in places.items() if place >= 0)]
    assert "".join(shown) == found
    shown = [name for name, id_ in sent.requests.items() if id_ in requests]
    assert shown == sorted(found)


@pytest.mark.parametrize(
    ("text", "name"),
    [("order-1", "a"), ("order-2", "c"), ("{job}", "c"), ("{event}", "b"), ("message", "d")],
)
def test_what_is_of_one_message_opens_it(site: Site, sent: Sent, text: str, name: str) -> None:
    """And among the requests shows those about it."""
    text = sent.messages[name] if text == "message" else text.format(**sent.others)
    with site.browser() as browser:
        answer = browser.get(MESSAGES, params={"q": text})
        requests = browser.get(REQUESTS, params={"q": text}).text
    assert answer.headers["location"] == f"{MESSAGES}/{sent.messages[name]}"
    assert [each for each, id_ in sent.requests.items() if id_ in requests] == [name]


def test_a_conversation_without_messages_has_no_requests(site: Site, sent: Sent) -> None:
    """They are deleted after their retention; the conversation stays."""
    name, now = "customer-of-old", site.clock.now()
    owner = asyncio.run(accounts.create_key(site.ctx, site.ann, "of old")).record.id
    record = ConversationRecord(new_id(ids.CONVERSATION, now), site.ann, owner, name, now)
    site.write(lambda tx: CONVERSATIONS.insert(tx, record))
    with site.browser() as browser:
        for text in (name, record.id):
            page = browser.get(REQUESTS, params={"q": text})
            assert page.status_code == 200
            assert "No results" in page.text
            assert [each for each in sent.requests.values() if each in page.text] == []


@pytest.mark.parametrize("query", ["q=%0%000", "q=%00%250%000%00"])
def test_a_search_without_its_nuls_stays_text(site: Site, sent: Sent, query: str) -> None:
    with site.browser() as browser:
        for path in (MESSAGES, REQUESTS):
            page = browser.get(f"{path}?{query}")
            assert page.status_code == 200
            assert "\0" not in page.text
            assert 'value="%00"' in page.text


def test_a_request_is_opened_from_both_lists(site: Site, sent: Sent) -> None:
    with site.browser() as browser:
        for path in (MESSAGES, REQUESTS):
            answer = browser.get(path, params={"q": sent.requests["a"]})
            assert answer.headers["location"] == f"{REQUESTS}/{sent.requests['a']}"


def test_a_live_search_shows_a_request_that_arrives(site: Site, sent: Sent) -> None:
    """A page that is open cannot be redirected, so its list links to the request."""
    for path in (MESSAGES, REQUESTS):
        address = f"{path}?q={sent.requests['a']}&live="
        with site.browser() as browser, stream(browser, address) as lines:
            text = next(line for line in lines if sent.requests["a"] in line)
        assert f"{REQUESTS}/{sent.requests['a']}" in text
        assert sent.requests["b"] not in text


def test_requests_about_messages_say_how_far_was_searched(
    site: Site, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = "Only requests about the newest matching messages are shown."
    with site.browser() as browser:
        assert notice not in browser.get(REQUESTS, params={"q": "A-1027"}).text
        monkeypatch.setattr(filtered, "SCANNED_MAX", 1)
        page = browser.get(REQUESTS, params={"q": "A-1027"}).text
    assert notice in page
    assert f'href="{MESSAGES}?q=A-1027"' in page


def test_nothing_of_another_account_is_found(site: Site, sent: Sent) -> None:
    foreign = (sent.messages["of Bob"], sent.requests["of Bob"], "Chart of Bob")
    with site.browser() as browser:
        for path in (MESSAGES, REQUESTS):
            for text in foreign:
                answer = browser.get(path, params={"q": text})
                assert answer.status_code == 200
                assert "No results" in answer.text


def test_old_messages_of_a_conversation_are_found_at_once(
    site: Site, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exact name has an index; other texts are looked for a part of the account at a time."""
    monkeypatch.setattr(filtered, "SCANNED_MAX", 1)
    with site.browser() as browser:
        exact = browser.get(MESSAGES, params={"q": "customer-4711", "status": "completed"}).text
        part = browser.get(MESSAGES, params={"q": "4711"}).text
    assert sent.messages["b"] in exact
    assert sent.messages["b"] not in part
    assert "Search further back" in part


def test_pages_show_names_first(site: Site, sent: Sent) -> None:
    with site.browser() as browser:
        listed = browser.get(MESSAGES).text
        page = browser.get(f"{MESSAGES}/{sent.messages['a']}").text
    assert listed.count("customer-4711") >= 2
    for text in ("customer-4711", "order-1", "A-1027"):
        assert text in page
    assert "cnv_" not in page
