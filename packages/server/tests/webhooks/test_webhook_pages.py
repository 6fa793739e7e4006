"""The pages of webhook endpoints and of what was sent to them."""

import asyncio
import re
from dataclasses import replace

import httpx2
import pytest

from agentpost.db.session import Tx
from agentpost.webhooks import delivery_rows, endpoints
from agentpost.webhooks.records import AttemptRecord, EndpointRecord
from tests.web.site import Site

PATH = "/dashboard/webhooks"
URL = "https://example.com/hook"
EVIL = "<script>alert(1)</script>"


def endpoint(site: Site, account_id: str | None = None) -> EndpointRecord:
    return asyncio.run(endpoints.create(site.ctx, account_id or site.ann, URL, None, "orders"))


def delivery(site: Site, made: EndpointRecord, n: int, status: str) -> str:
    event_id = f"evt_{n:032x}"
    now = site.clock.now()
    attempt = AttemptRecord(event_id, made.id, 1, now, 500, "it answered 500", EVIL, 7)

    def fn(tx: Tx) -> None:
        name, data = "message.completed", '{"id": "msg_1"}'
        delivery_rows.add_event(tx, event_id, made.account_id, None, None, name, data, now)
        delivery_rows.add_delivery(tx, event_id, made.id, status, now)
        delivery_rows.add_attempts(tx, [attempt], keep=5)

    site.write(fn)
    return event_id


def secret_of(page: httpx2.Response) -> str | None:
    match = re.search(r'aria-label="The secret">(whsec_[\w+/=]+)<', page.text)
    return match[1] if match else None


def test_an_endpoint_is_registered_and_its_secret_shown_once(site: Site) -> None:
    form = {"url": URL, "events": ["message.failed", "job.failed"], "description": "orders"}
    with site.browser() as browser:
        page = browser.post(PATH, data=form)
        secret = secret_of(page)
        assert secret is not None
        (made,) = asyncio.run(endpoints.list_all(site.ctx, site.ann))
        assert site.ctx.cipher.decrypt(made.id, made.secret) == secret
        listed = browser.get(PATH).text
        assert "2 events" in listed
        for path in (PATH, f"{PATH}/{made.id}", f"{PATH}/{made.id}/settings"):
            assert secret not in browser.get(path).text


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"url": "http://10.0.0.1/x"}, "The webhook address cannot be used"),
        ({"url": ""}, "The webhook address cannot be used"),
        ({"url": URL, "events": "no.such"}, "There is no event"),
        ({"url": URL, "description": "d" * 121}, "The description is over"),
    ],
)
def test_a_form_with_a_mistake_keeps_what_was_filled_in(
    site: Site, form: dict[str, str], problem: str
) -> None:
    made = endpoint(site)
    with site.browser() as browser:
        for path in (PATH, f"{PATH}/{made.id}/settings"):
            page = browser.post(path, data=form)
            assert page.status_code == 422
            assert problem in page.text
            assert f'value="{form["url"]}"' in page.text
    (kept,) = asyncio.run(endpoints.list_all(site.ctx, site.ann))
    assert replace(kept, secret=made.secret) == made


@pytest.mark.rule("Webhook endpoint states 2")
def test_an_endpoint_is_changed_turned_off_enabled_and_removed(site: Site) -> None:
    made = endpoint(site)
    one = f"{PATH}/{made.id}"

    def now() -> EndpointRecord:
        return asyncio.run(endpoints.get(site.ctx, site.ann, made.id))[0]

    with site.browser() as browser:
        browser.post(f"{one}/settings", data={"url": f"{URL}/2", "events": "job.failed"})
        assert (now().url, now().events_json) == (f"{URL}/2", '["job.failed"]')
        browser.post(f"{one}/turn", data={"to": "off"})
        assert now().disabled_at is not None
        page = browser.get(f"{one}?note=off").text
        assert "This endpoint is disabled" in page
        assert ">Enable</button>" in page
        assert browser.post(f"{one}/test").status_code == 400
        browser.post(f"{one}/turn", data={"to": "on"})
        assert now().disabled_at is None
        secret = secret_of(browser.post(f"{one}/rotate", data={"grace": "24"}))
        keys = (now().secret, now().old_secret or "")
        assert site.ctx.cipher.signing_keys(made.id, keys) == (secret, made.secret)
        assert browser.post(f"{one}/delete").headers["location"] == f"{PATH}?note=deleted"
        assert browser.get(one).status_code == 404


def test_a_test_event_leads_to_its_delivery(site: Site) -> None:
    made = endpoint(site)
    with site.browser() as browser:
        sent = browser.post(f"{PATH}/{made.id}/test")
        page = browser.get(sent.headers["location"]).text
    assert "Test event sent." in page
    assert "webhook.test" in page
    assert "pending" in page


def test_deliveries_show_every_attempt_and_are_sent_again(site: Site) -> None:
    made = endpoint(site)
    failed = [delivery(site, made, n, "failed") for n in range(40)]
    done = delivery(site, made, 99, "delivered")
    one = f"{PATH}/{made.id}"
    with site.browser() as browser:
        page = browser.get(f"{one}?status=failed").text
        assert failed[39] in page
        assert failed[0] not in page
        assert done not in page
        older = browser.get(f"{one}?status=failed&before={failed[10]}").text
        assert failed[0] in older
        page = browser.get(f"{one}/deliveries/{failed[0]}").text
        for text in ("500", "it answered 500", "7 ms", "&lt;script&gt;", "msg_1"):
            assert text in page
        assert EVIL not in page
        assert "Raw payload of the next attempt" in page
        browser.post(f"{one}/deliveries/{failed[0]}")
        again = browser.get(f"{one}/deliveries/{failed[0]}").text
        assert "pending" in again
        assert "Next attempt" in again
        site.write(lambda tx: tx.execute("UPDATE attempts SET body_sha256 = 'x'"))
        changed = browser.get(f"{one}/deliveries/{failed[0]}").text
        assert "The payload differs from what was sent" in changed
        answer = browser.post(f"{one}/replay", data={"since": "24h"})
        assert answer.headers["location"] == f"{one}?note=replayed"
        assert f"{done}" in browser.get(f"{one}?status=delivered").text
        assert failed[1] not in browser.get(f"{one}?status=failed").text
        answer = browser.post(f"{one}/replay", data={"since": "24h"})
        assert answer.headers["location"] == f"{one}?note=nothing"
        browser.post(f"{one}/replay", data={"since": "24h", "all": "on"})
        assert done not in browser.get(f"{one}?status=delivered").text
        assert browser.post(f"{one}/replay", data={"since": "ever"}).status_code == 404
