"""The request inspector: what it shows, to whom, and how it is searched (spec: Limits)."""

import html
from typing import Any

import pytest

from agentpost.record.records import RequestRecord
from agentpost.requests import rows as request_rows
from tests.harness.context import request_record
from tests.web.site import Site

PATH = "/dashboard/requests"
EVIL = "<script>alert(1)</script>'\"&"


def add_record(
    site: Site, n: int = 1, account_id: str | None = None, **fields: Any
) -> RequestRecord:
    now = site.clock.now()
    given: dict[str, Any] = {
        "id": f"req_{now:014x}{n:018x}",
        "method": "POST",
        "path": f"/v1/messages?n={n}",
        "status": 201,
        "request_bytes": 20,
        "request_body": '{"message": "it\'s"}',
        "response_body": "{}",
        **fields,
    }
    record = request_record(account_id or site.ann, now, **given)
    site.write(lambda tx: request_rows.REQUESTS.insert_all(tx, [record]))
    return record


@pytest.mark.rule("Limits inspector")
def test_a_request_shows_its_facts_its_bodies_and_a_command(site: Site) -> None:
    one = add_record(site, status=429, error="rate_limited", path=f"/v1/{EVIL}")
    with site.browser() as browser:
        listed = browser.get(PATH)
        page = browser.get(f"{PATH}/{one.id}")
    assert one.id in listed.text
    assert "rate_limited" in page.text
    assert "Retry-After" in page.text
    assert "&#34;message&#34;: &#34;it&#39;s&#34;" in page.text
    assert "-X POST" in page.text
    assert "$AGENTPOST_KEY" in page.text
    assert "<script>alert" not in listed.text + page.text


@pytest.mark.parametrize(
    ("body", "size", "said", "data"),
    [
        ('{"a": 1}', 8, None, "-d '{"),
        ('{"secret": "…"}', 20, "put back what was left out", "-d @body.json"),
        ("x" * 32_768, 40_000, "Only the beginning of the body (40,000 bytes)", "-d @body.json"),
        (None, 9_000_000, "The body (9,000,000 bytes) was not kept", "-d @body.json"),
        (None, 0, None, None),
    ],
)
def test_a_command_says_what_it_lacks(
    site: Site, body: str | None, size: int, said: str | None, data: str | None
) -> None:
    one = add_record(site, request_body=body, request_bytes=size)
    with site.browser() as browser:
        text = html.unescape(browser.get(f"{PATH}/{one.id}").text)
    command = text[text.index("Repeat the request") :]
    assert (data is None) == ("-d " not in command)
    assert (data or "") in command
    assert ('"># ' in command) == (said is not None)
    assert (said or "") in command


def test_pages_lead_to_older_requests_and_keep_the_filter(site: Site) -> None:
    ids = [add_record(site, n, status=404).id for n in range(60)]
    add_record(site, 99)
    with site.browser() as browser:
        first = browser.get(PATH, params={"status": "4xx"}).text
        assert ids[59] in first
        assert ids[9] not in first
        older = f"{PATH}?status=4xx&amp;before={ids[10]}"
        assert older in first
        second = browser.get(older.replace("&amp;", "&")).text
    assert all(each in second for each in ids[:10])
    assert ids[10] not in second


def test_a_request_and_its_message_lead_to_each_other(site: Site) -> None:
    message = f"msg_{1:032x}"
    post = add_record(site, 1, path="/v1/messages", response_body=f'{{"id": "{message}"}}')
    get = add_record(site, 2, path=f"/v1/messages/{message}?wait=45")
    other = add_record(site, 3, path="/v1/messages", response_body=f'{{"id": "msg_{2:032x}"}}')
    refused = add_record(site, 4, status=422, response_body=f'{{"error": "{message}"}}')
    with site.browser() as browser:
        found = browser.get(PATH, params={"q": message}).text
        assert post.id in found
        assert get.id in found
        assert other.id not in found
        for each in (post, get):
            assert f'href="/dashboard/messages/{message}"' in browser.get(f"{PATH}/{each.id}").text
        assert "/dashboard/messages/msg_" not in browser.get(f"{PATH}/{refused.id}").text


@pytest.mark.parametrize("query", ["before=x", "since=forever", "status=abc&key=%00", "q=%25"])
def test_an_address_with_odd_values_shows_a_page(site: Site, query: str) -> None:
    add_record(site)
    with site.browser() as browser:
        assert browser.get(f"{PATH}?{query}").status_code == 200
