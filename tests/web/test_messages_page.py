"""The list of messages and the timeline of one, in the dashboard."""

import asyncio
from typing import Any

import pytest

from agentpost.clock import new_id
from agentpost.db import filtered
from agentpost.domain import ids
from agentpost.services import accounts
from tests.web.site import Site

PATH = "/dashboard/messages"
EVIL = "<script>alert(1)</script>\"'"


def sent(site: Site, text: str, **fields: Any) -> str:
    message_id = new_id(ids.MESSAGE, site.clock.now())
    site.message(text, **{"id": message_id, "turn_state": "ended", **fields})
    site.clock.advance(1)
    return message_id


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ["c", "b", "a"]),
        ({"status": "failed"}, ["b"]),
        ({"status": "odd"}, ["c", "b", "a"]),
        ({"key": "key_2"}, ["c"]),
        ({"conversation": "cnv_2"}, ["a"]),
        ({"text": "SECOND_%"}, ["b"]),
        ({"text": "second", "status": "completed"}, []),
    ],
)
def test_messages_are_filtered(site: Site, given: dict[str, str], found: list[str]) -> None:
    made = {
        "a": sent(site, "the first", conversation_id="cnv_2"),
        "b": sent(site, "the Second_% one", status="failed", reason="turn_failed"),
        "c": sent(site, "the third", key_id="key_2"),
    }
    sent(site, "too old", expires_at=1)
    with site.browser() as browser:
        page = browser.get(PATH, params=given).text
    places = {name: page.find(f"{PATH}/{message_id}") for name, message_id in made.items()}
    shown = sorted((place, name) for name, place in places.items() if place >= 0)
    assert [name for _, name in shown] == found
    assert "too old" not in page


def test_older_messages_follow_with_the_same_filter(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtered, "SCANNED_MAX", 2)
    wanted = sent(site, "needle")
    for n in range(3):
        sent(site, f"hay {n}")
    with site.browser() as browser:
        first = browser.get(PATH, params={"text": "needle"}).text
        assert "Older messages may" in first
        older = first.partition(f'href="{PATH}?text=needle&amp;before=')[2].partition('"')[0]
        assert wanted in browser.get(f"{PATH}?text=needle&before={older}").text


def test_a_message_is_found_by_its_id(site: Site) -> None:
    message_id = sent(site, "x")
    with site.browser() as browser:
        answer = browser.get(PATH, params={"text": message_id})
    assert answer.headers["location"] == f"{PATH}/{message_id}"


def test_a_message_shows_what_happened_and_what_to_do(site: Site) -> None:
    now = site.clock.now()
    message_id = sent(
        site,
        EVIL,
        status="failed",
        reason="turn_failed",
        reply=EVIL,
        turn_state="failed",
        turn_began_at=now + 250_000,
        updated_at=now + 1_500_000,
        metadata_json='{"order": "17"}',
    )
    insert = (
        "INSERT INTO entries (message_id, seq, type, at, body_json)"
        " VALUES (?, 1, 'turn_failed', ?, '{\"note\": \"<b>\"}')"
    )
    call = (
        "INSERT INTO calls (owner, n, fingerprint, state, value, at, summary)"
        " VALUES (?, 1, 'f', 'done', 'null', ?, '[\"step\", \"agent:chart\"]')"
    )
    site.write(lambda tx: tx.execute(insert, (message_id, now + 1_500_000)))
    site.write(lambda tx: tx.execute(call, (message_id, now + 700_000)))
    with site.browser() as browser:
        page = browser.get(f"{PATH}/{message_id}").text
    for text in ("turn failed", "+1.50 s", "1.25 s", "step agent:chart", "+0.70 s", "order: 17"):
        assert text in page
    assert "The agent could not answer." in page
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert page.index("+0.70 s") < page.index("+1.50 s")


def test_messages_of_others_and_those_past_retention_are_not_there(site: Site) -> None:
    bob = asyncio.run(accounts.create(site.ctx, "bob@example.com", "Bob")).id
    foreign = sent(site, "bob's", account_id=bob)
    old = sent(site, "old", expires_at=1)
    with site.browser() as browser:
        assert "No message yet" in browser.get(PATH).text
        for message_id in (foreign, old, "msg_1"):
            assert browser.get(f"{PATH}/{message_id}").status_code == 404
