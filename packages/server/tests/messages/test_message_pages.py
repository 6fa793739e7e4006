"""The list of messages and the timeline of one, in the dashboard."""

import asyncio
import re
from typing import Any

import pytest

from agentpost.accounts import actions as accounts
from agentpost.clock import new_id
from agentpost.db import filtered
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.file_names import content_disposition
from agentpost.explain import timeline, timeline_rows
from agentpost.users.role_rules import Role
from tests.harness.rows import insert
from tests.web import busy as busy_files
from tests.web.busy import fill
from tests.web.site import Site

PATH = "/dashboard/messages"
EVIL = "<script>alert(1)</script>\"'"


def add_message(site: Site, text: str, **fields: Any) -> str:
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
        ({"q": "SECOND_%"}, ["b"]),
        ({"q": "second", "status": "completed"}, []),
    ],
)
def test_messages_are_filtered(site: Site, given: dict[str, str], found: list[str]) -> None:
    made = {
        "a": add_message(site, "the first"),
        "b": add_message(site, "the Second_% one", status="failed", reason="turn_failed"),
        "c": add_message(site, "the third", key_id="key_2"),
    }
    add_message(site, "too old", expires_at=1)
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
    wanted = add_message(site, "needle")
    for n in range(3):
        add_message(site, f"hay {n}")
    with site.browser() as browser:
        first = browser.get(PATH, params={"q": "needle"}).text
        assert "Search further back" in first
        older = first.partition(f'href="{PATH}?q=needle&amp;before=')[2].partition('"')[0]
        assert wanted in browser.get(f"{PATH}?q=needle&before={older}").text


def test_a_message_somebody_stopped_is_no_error(site: Site) -> None:
    add_message(site, "halted", status="failed", reason="stopped")
    with site.browser() as browser:
        listed, overview = browser.get(PATH).text, browser.get("/dashboard").text
    assert '<span class="state stopped">stopped</span>' in listed
    assert '<span class="state stopped">stopped</span>' in overview
    assert "Needs attention" not in overview


def test_lists_name_who_wrote_a_message(site: Site) -> None:
    key = asyncio.run(accounts.create_key(site.ctx, site.ann, "nightly")).record.id
    user = site.user("carla@example.com", Role.MEMBER)
    gone = "usr_gone"
    for sender, author in ((key, None), (site.ann, user.id), (site.ann, None), ("key_x", None)):
        add_message(site, "x", key_id=sender, user_id=author)
    last = add_message(site, "x", key_id=site.ann, user_id=gone)
    with site.browser() as browser:
        listed = browser.get(PATH).text
        page = browser.get(f"{PATH}/{last}").text
        own = browser.get(PATH, params={"key": key}).text
    for name in ("nightly", "carla@example.com", "the web app", "deleted key"):
        assert f"<bdi>{name}</bdi></td>" in listed
    assert "removed user" in listed
    assert "removed user" in page
    assert "<bdi>nightly</bdi></td>" in own
    assert "<bdi>the web app</bdi></td>" not in own


def test_a_message_shows_what_happened_and_what_to_do(site: Site) -> None:
    now = site.clock.now()
    message_id = add_message(
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
    entry = {"type": "turn_failed", "at": now + 1_500_000, "body_json": '{"note": "<b>"}'}
    site.insert("entries", message_id=message_id, seq=1, **entry)
    call = {"state": "done", "value": "null", "summary": '["step", "agent:chart"]'}
    site.insert("calls", owner=message_id, n=1, fingerprint="f", at=now + 700_000, **call)
    with site.browser() as browser:
        page = browser.get(f"{PATH}/{message_id}").text
    for text in ("Turn failed", "+1.50 s", "1.25 s", "step chart", "+0.70 s", "<bdi>17</bdi>"):
        assert text in page
    assert "The agent could not answer." in page
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert page.index("+0.70 s") < page.index("+1.50 s")


def test_messages_past_retention_are_not_there(site: Site) -> None:
    old = add_message(site, "old", expires_at=1)
    with site.browser() as browser:
        assert "No messages yet" in browser.get(PATH).text
        for message_id in (old, "msg_1"):
            assert browser.get(f"{PATH}/{message_id}").status_code == 404


def add_step(tx: Tx, message_id: str, n: int, at: int) -> None:
    entry = {"type": "progress", "body_json": f'{{"text": "step {n:03}"}}'}
    insert(tx, "entries", message_id=message_id, seq=n, at=at, **entry)


def test_a_long_timeline_comes_in_parts(site: Site) -> None:
    """The newest one at first, which grows."""
    message_id = add_message(site, "long")

    def write(tx: Tx) -> None:
        for n in range(1, 700):  # and that its turn began
            add_step(tx, message_id, n, site.clock.now() + n)

    site.write(write)
    shown: dict[str, str] = {}
    with site.browser() as browser:
        for part in ("", "?part=1", "?part=99", "?part=x"):
            shown[part] = browser.get(f"{PATH}/{message_id}{part}").text
    for part in ("", "?part=99", "?part=x"):
        assert "step 699" in shown[part]
        assert "step 599" not in shown[part]
        assert f"{PATH}/{message_id}?part=2" in shown[part]
    assert "step 001" in shown["?part=1"]
    assert "step 301" not in shown["?part=1"]
    assert ("hx-sse:connect" in shown[""], "hx-sse:connect" in shown["?part=1"]) == (True, False)


def test_the_last_part_is_read_without_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read again at each change of a running message, however long its log is."""
    message_id = fill(site).message
    began = site.clock.now() - 3_600_000_000

    def write(tx: Tx) -> None:
        for n in range(10, 60):
            add_step(tx, message_id, n, began + n)

    site.write(write)
    whole = asyncio.run(timeline.build(site.ctx, message_id))
    assert whole.total == len(whole.lines)
    read: list[int] = []
    entries = timeline_rows.entries

    def counted(tx: Tx, of: str, last: int = timeline_rows.ALL) -> list[Any]:
        found = entries(tx, of, last)
        read.append(len(found))
        return found

    monkeypatch.setattr(timeline_rows, "entries", counted)
    for size in (7, whole.total, whole.total - 1, whole.total + 1):
        part = asyncio.run(timeline.build(site.ctx, message_id, part_lines=size))
        first = (whole.total - 1) // size * size
        assert part.lines == whole.lines[first:]
        assert (part.total, part.spans) == (whole.total, whole.spans)
    assert read[0] <= 7


def test_the_calls_of_a_job_are_drawn(site: Site) -> None:
    busy = fill(site)
    with site.browser(busy.account) as browser:
        page = browser.get(f"{PATH}/{busy.message}").text
    label = r'<li class="span-(\w+)">\s*<(?:span|a) class="label"[^>]*>(.*?)</(?:span|a)>'
    row = label + r'\s*<span class="took">(.*?)</span>'
    drawn = re.findall(row, page)
    assert [name for kind, name, _ in drawn if kind == "call"] == [
        "start Chart",
        "progress",
        "step",
        "write",
    ]
    assert [took for kind, _, took in drawn if kind == "job"] == ["8.00 s"]
    assert [(name, took) for kind, name, took in drawn if kind == "attempt"] == [
        ("message.completed", "90 ms"),
        ("job.completed", "failed · 180 ms"),
    ]
    assert "1 later webhook attempt" in page


def test_files_and_webhooks_of_a_message_are_listed(site: Site) -> None:
    busy = fill(site)
    with site.browser(busy.account) as browser:
        page = browser.get(f"{PATH}/{busy.message}").text
        sent = browser.get(f"{PATH}/{busy.message}/attachments/1")
        for odd in ("2", "0", "x", "99999"):
            assert browser.get(f"{PATH}/{busy.message}/attachments/{odd}").status_code == 404
    for text in ("sales.csv", "chart.svg", "pending"):
        assert text in page
    assert f"/chat/{busy.work.id}/files/chart.svg" in page
    # Previewed here, not in its chat.
    assert f'hx-get="/chat/{busy.message}/preview/1"' in page
    assert f'href="/chat/{busy.work.id}">Preview' not in page
    assert f"/dashboard/webhooks/{busy.endpoint}/deliveries/" in page
    assert (sent.status_code, sent.content) == (200, busy_files.SALES)
    assert sent.headers["content-disposition"] == content_disposition("sales.csv")
    assert sent.headers["content-security-policy"].startswith("sandbox")
    with site.browser() as other:
        assert other.get(f"{PATH}/{busy.message}/attachments/1").status_code == 404
