"""The page of API keys: made, shown once, revoked, and nobody else's."""

import asyncio
import re

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from tests.web.site import Site

PATH = "/dashboard/keys"


@pytest.mark.rule("Authentication 2")
def test_a_key_made_on_the_page_works_and_is_shown_once(site: Site, browser: httpx2.Client) -> None:
    page = browser.post(
        PATH, data={"name": "checkout", "expires": "30", "scopes": ["send", "read"]}
    )
    match = re.search(r'aria-label="The new key">(svc_key_[\w-]+)<', page.text)
    assert match is not None
    assert page.status_code == 200
    assert "content-encoding" not in page.headers
    assert match[1] not in browser.get(PATH).text
    answer = browser.get("/v1/me", headers={"Authorization": f"Bearer {match[1]}"})
    assert answer.json()["key"]["name"] == "checkout"
    assert (asyncio.run(accounts.keys_of(site.ctx, site.ann)))[0].expires_at is not None


def test_a_revoked_key_is_refused_and_listed_apart(site: Site, browser: httpx2.Client) -> None:
    made = asyncio.run(accounts.create_key(site.ctx, site.ann, "old one"))
    answer = browser.post(f"{PATH}/{made.record.id}/revoke")
    assert answer.headers["location"] == f"{PATH}?note=revoked"
    page = browser.get(answer.headers["location"]).text
    assert "Key revoked." in page
    assert "1 expired or revoked key" in page
    asked = browser.get("/v1/me", headers={"Authorization": f"Bearer {made.secret}"})
    assert asked.status_code == 401
    assert browser.post(f"{PATH}/{made.record.id}/revoke").status_code == 404


def test_a_form_with_a_mistake_makes_no_key(site: Site, browser: httpx2.Client) -> None:
    wrong: list[tuple[dict[str, str], str]] = [
        ({"name": " "}, "Give the key a name"),
        ({"name": "n" * 101}, "at most 100 characters"),
        ({"name": "n", "expires": "-1"}, "Choose one of the times."),
        ({}, "Give the key a name"),
        ({"name": "n", "scopes": "fly"}, "Choose at least one permission"),
        ({"name": "n", "scopes": ""}, "Choose at least one permission"),
    ]
    for form, problem in wrong:
        page = browser.post(PATH, data={"scopes": "send", **form})
        assert (page.status_code, problem in page.text) == (422, True), form
    assert asyncio.run(accounts.keys_of(site.ctx, site.ann)) == []


def test_an_account_has_a_limit_of_live_keys(
    browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "LIVE_KEYS_MAX", 1)
    assert browser.post(PATH, data={"name": "one", "scopes": "send"}).status_code == 200
    page = browser.post(PATH, data={"name": "two", "scopes": "send"})
    assert "There are 1 keys already" in page.text


@pytest.mark.rule("Additions scopes")
def test_a_key_may_do_what_was_checked(site: Site, browser: httpx2.Client) -> None:
    form = browser.get(PATH).text
    assert 'value="admin" checked' in form
    assert 'value="read_all"' in form
    assert 'value="read_all" checked' not in form
    browser.post(PATH, data={"name": "reports", "scopes": ["read"]})
    assert ">read</p>" in browser.get(PATH).text
    (made,) = asyncio.run(accounts.keys_of(site.ctx, site.ann))
    assert made.scopes == "read"


def test_a_key_is_rotated_and_limited_on_its_page(site: Site, browser: httpx2.Client) -> None:
    made = asyncio.run(accounts.create_key(site.ctx, site.ann, "checkout"))
    one = f"{PATH}/{made.record.id}"
    assert one in browser.get(PATH).text
    wrong = browser.post(one, data={"networks": "203.0.113.0/24\nexample"})
    assert (wrong.status_code, "not an IP address or network" in wrong.text) == (422, True)
    assert browser.post(one, data={"networks": "203.0.113.9/32, ::1/128"}).status_code == 303
    assert "only from 203.0.113.9/32, ::1/128" in browser.get(PATH).text
    assert "203.0.113.9/32\n::1/128" in browser.get(one).text

    page = browser.post(f"{one}/rotate", data={"overlap": "24"})
    match = re.search(r'aria-label="The new key">(svc_key_[\w-]+)<', page.text)
    assert match is not None
    assert match[1] not in browser.get(PATH).text
    assert f"old key …{made.record.hint} works until" in browser.get(PATH).text
    again = browser.post(f"{one}/rotate", data={"overlap": "24"})
    assert (again.status_code, "rotate again after that" in again.text) == (422, True)
    assert browser.post(f"{one}/rotate", data={"overlap": "5"}).status_code == 422

    for secret in (made.secret, match[1]):
        asked = browser.get("/v1/me", headers={"Authorization": f"Bearer {secret}"})
        assert asked.status_code == 403
        assert "may not be used from the address 127.0.0.1." in asked.json()["message"]
    assert browser.post(one, data={"networks": "127.0.0.0/8"}).status_code == 303
    site.clock.advance(1)
    asked = browser.get("/v1/me", headers={"Authorization": f"Bearer {match[1]}"})
    assert asked.json()["key"]["id"] == made.record.id
    assert browser.get(f"{PATH}/key_{'0' * 32}").status_code == 404
