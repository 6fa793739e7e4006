"""Every page of the app, by role; by account and for strangers: tests/e2e/test_tenants.py.

The tables are compared with the registry of pages, so a page that is added and not listed here
fails.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from agentpost.domain import ids
from agentpost.users.role_rules import Right, Role, may
from agentpost.web.page import OpenPage, Page
from agentpost.web.routes import PAGES
from agentpost.webhooks import endpoints
from tests.web.busy import Busy, fill
from tests.web.site import Site, open_site

TABLE = {
    "/": "anybody -",
    "/theme": "- anybody",
    "/login": "anybody anybody",
    "/login/{token}": "anybody anybody",
    "/oidc": "anybody -",
    "/oidc/callback": "anybody -",
    "/password": "anybody anybody",
    "/password/{token}": "anybody anybody",
    "/chat": "member member",
    "/chat/examples": "- member",
    "/chat/uploads": "- member",
    "/chat/uploads/{upload_id}/complete": "- member",
    "/chat/{chat_id}": "member member",
    "/chat/{chat_id}/delete": "- member",  # of what they began
    "/chat/{chat_id}/recover": "- member",
    "/chat/{chat_id}/stop": "- member",
    "/chat/{work_id}/files/{path:path}": "member -",
    "/chat/{work_id}/frame/{path:path}": "member -",
    "/chat/{work_id}/pages/{path:path}": "member -",
    "/chat/{work_id}/preview/{path:path}": "member -",
    "/dashboard": "member -",
    "/dashboard/credits": "member -",
    "/dashboard/credits/ledger.csv": "member -",
    "/dashboard/credits/usage.csv": "member -",
    "/dashboard/keys": "member owner",
    "/dashboard/mail": "member -",
    "/dashboard/messages": "member -",
    "/dashboard/messages/{message_id}": "member -",
    "/dashboard/messages/{message_id}/attachments/{n}": "member -",
    "/dashboard/messages/{message_id}/recover": "- member",
    "/dashboard/requests": "member -",
    "/dashboard/requests/{request_id}": "member -",
    "/dashboard/schedules": "member owner",
    "/dashboard/schedules/{schedule_id}": "member -",
    "/dashboard/webhooks": "member owner",
    "/dashboard/webhooks/{endpoint_id}": "member -",
    "/dashboard/webhooks/{endpoint_id}/deliveries/{event_id}": "member owner",
    "/mail": "member -",
    "/profile": "member member",
    "/sessions": "member member",
    "/sessions/{session_id}/end": "- member",
    "/logout": "- member",
    "/dashboard/keys/{key_id}": "owner owner",
    "/dashboard/keys/{key_id}/rotate": "- owner",
    "/dashboard/keys/{key_id}/revoke": "- owner",
    "/dashboard/schedules/{schedule_id}/delete": "- owner",
    "/dashboard/schedules/{schedule_id}/pause": "- owner",
    "/dashboard/users": "owner owner",
    "/dashboard/users/{user_id}/link": "- owner",
    "/dashboard/users/{user_id}/remove": "- owner",
    "/dashboard/users/{user_id}/role": "- owner",
    "/dashboard/webhooks/{endpoint_id}/delete": "- owner",
    "/dashboard/webhooks/{endpoint_id}/replay": "- owner",
    "/dashboard/webhooks/{endpoint_id}/rotate": "- owner",
    "/dashboard/webhooks/{endpoint_id}/settings": "owner owner",
    "/dashboard/webhooks/{endpoint_id}/test": "- owner",
    "/dashboard/webhooks/{endpoint_id}/turn": "- owner",
    "/dashboard/operator": "operator operator",
    "/dashboard/operator/accounts/{account_id}": "operator -",
    "/dashboard/operator/accounts/{account_id}/credits": "- operator",
    "/dashboard/operator/accounts/{account_id}/fees": "- operator",
    "/dashboard/operator/accounts/{account_id}/limits": "- operator",
    "/dashboard/operator/audit": "operator -",
    "/dashboard/operator/doctor": "operator -",
    "/dashboard/operator/maintenance": "- operator",
}
"""Who may look at a page (GET) and who may send its form (POST)."""


def of(role: str) -> set[str]:
    return {
        f"{method} {path}"
        for path, roles in TABLE.items()
        for method, each in zip(("GET", "POST"), roles.split(), strict=True)
        if each == role
    }


OPEN, MEMBER, OWNER, OPERATOR = map(of, ("anybody", "member", "owner", "operator"))
SIGNED_IN = MEMBER | OWNER | OPERATOR
PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
NOTHING = {
    f"{name}_id": prefix + "0" * 32
    for name, prefix in {
        "account": ids.ACCOUNT,
        "chat": ids.WORK,
        "endpoint": ids.ENDPOINT,
        "event": ids.EVENT,
        "key": ids.KEY,
        "message": ids.MESSAGE,
        "request": ids.REQUEST,
        "schedule": ids.SCHEDULE,
        "upload": ids.UPLOAD,
        "user": ids.USER,
        "work": ids.WORK,
    }.items()
} | {"n": "1"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site")) as opened:
        yield opened


def own(site: Site) -> str:
    """Ann, the owner: other tests here make operators in her account."""
    return ids.USER + site.ann.removeprefix(ids.ACCOUNT)


def routes(kind: type[Page] | type[OpenPage]) -> set[str]:
    pages = [each for each in PAGES if isinstance(each, kind)]
    return {
        *(f"GET {each.path}" for each in pages if each.get),
        *(f"POST {each.path}" for each in pages if each.post),
    }


def ask(browser: httpx2.Client, route: str) -> httpx2.Response:
    """Call a route with parameters that name nothing, and a form that names the same."""
    method, _, path = route.partition(" ")
    address = PARAMETER.sub(lambda match: NOTHING.get(match[1], "0" * 32), path)
    if method == "GET":
        return browser.get(address, headers={"Accept": "text/html"})
    named = {"work": NOTHING["work_id"], "message": NOTHING["message_id"]}
    form = {**named, "role": "member", "to": "on", "text": "hi", "example": "99"}
    return browser.post(address, data=form)


def test_the_tables_list_every_page_and_every_page_says_its_right() -> None:
    assert routes(OpenPage) == OPEN
    assert routes(Page) == SIGNED_IN
    closed = [each for each in PAGES if isinstance(each, Page)]
    assert [each.path for each in closed if each.right is None] == []


@pytest.mark.parametrize(
    ("role", "pages"),
    [
        (Role.MEMBER, MEMBER),
        (Role.OWNER, MEMBER | OWNER),
        (Role.OPERATOR, SIGNED_IN),
    ],
)
def test_each_role_meets_its_own_pages(site: Site, role: Role, pages: set[str]) -> None:
    """With ids that nothing has: a page that is allowed then says so, or shows its form."""
    user = site.user(f"{role}@example.com", role)
    refused = set()
    with site.browser(user.id) as browser:
        for route in sorted(SIGNED_IN - {"POST /logout", "POST /sessions"}):
            answer = ask(browser, route)
            if answer.status_code == 403:  # within the app, with ways on
                assert 'aria-label="Pages"' in answer.text, route
            unknown = route in OPERATOR and "{" not in route and answer.status_code == 404
            assert answer.status_code < 500, route
            if answer.status_code == 403 or unknown:
                refused.add(route)
    denied = SIGNED_IN - pages
    assert {route for route in denied if "{" not in route or route not in OPERATOR} == refused


def test_a_member_deletes_what_they_began_only(site: Site) -> None:
    first = site.user("first@example.com", Role.MEMBER)
    second = site.user("second@example.com", Role.MEMBER)
    with site.browser(first.id) as browser:
        chat = browser.post("/chat", data={"text": "mine"}).headers["location"]
    with site.browser(second.id) as browser:
        refused = browser.post(f"{chat}/delete")
        assert (refused.status_code, "Only an owner" in refused.text) == (403, True)
    for user in (first.id, own(site)):
        with site.browser(user) as browser:
            assert browser.post(f"{chat}/delete").status_code == 303


def test_what_a_role_may_not_do_is_not_offered(site: Site) -> None:
    member = site.user("reader@example.com", Role.MEMBER)
    asyncio.run(endpoints.create(site.ctx, site.ann, "https://ann.example/hook", None, None))
    asyncio.run(accounts.create_key(site.ctx, site.ann, "a key"))
    with site.browser(member.id) as browser:
        for path in ("/dashboard/keys", "/dashboard/webhooks", "/chat"):
            page = browser.get(path).text
            assert 'method="post" action="/dashboard' not in page
            assert 'href="/dashboard/users"' not in page
            assert 'href="/dashboard/operator"' not in page


def test_paths_of_webhooks_are_for_those_who_manage_them(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        _check_paths(site, fill(site))


def _check_paths(site: Site, busy: Busy) -> None:
    places = {
        "/dashboard": "old.example.com/in",
        "/dashboard/webhooks": "shop.example.com/hooks",
        f"/dashboard/webhooks/{busy.endpoint}": "shop.example.com/hooks",
        f"/dashboard/messages/{busy.message}": "shop.example.com/hooks",
    }
    for role in Role:
        user = site.user(f"{role}@paths.example", role, account_id=busy.account)
        with site.browser(user.id) as browser:
            for place, address in places.items():
                page = browser.get(place).text
                assert (f"https://{address}" in page) == may(role, Right.WEBHOOKS), (role, place)
                assert f"https://{address.partition('/')[0]}/" in page, (role, place)
