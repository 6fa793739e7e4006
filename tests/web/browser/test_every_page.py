"""Every page with something on it, in a real browser: no error, nothing that axe-core finds, and it
fits a phone, in the dark too."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from agentpost.web.routes import PAGES
from tests.web import busy
from tests.web.browser.chromium import DESKTOP, PHONE, axe, sign_in, visiting
from tests.web.busy import Busy
from tests.web.site import Site, open_site

NO_PAGES = {
    "/": "leads to the dashboard",
    "/mail": "leads to the page of mails",
    "/dashboard/credits/ledger.csv": "a file",
    "/dashboard/credits/usage.csv": "a file",
    "/dashboard/messages/{message_id}/attachments/{n}": "a file",
    "/chat/{work_id}/preview/{path:path}": "a part of a chat",
    "/chat/{work_id}/frame/{path:path}": "made by an agent",
    "/chat/{work_id}/pages/{path:path}": "a picture",
    "/chat/{chat_id}/files/{path:path}": "leads to a file",
    "/password/{token}": "opened by a link: test_sign_in.py",
    "/oidc": "leads to the provider",
    "/oidc/callback": "leads to the page that was wanted",
}
MORE = 60
"""Than one page of a list shows."""
SIDE = ".side"
"""The same on every page."""
SIGNED_OUT = {"/login", "/login/{token}"}
"""Whoever is signed in sees the dashboard at the first; the second is there for strangers."""
TABLETS = (768, 1024)
TOO_WIDE = """[document.documentElement, ...document.querySelectorAll(".table")]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.outerHTML.slice(0, 60))
  .join()"""
"""Code may scroll in its own box."""
CHANGED = ("color-contrast", "scrollable-region-focusable", "aria-hidden-focus")
"""What may differ between a wide page in the light and a narrow one in the dark."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """In a thread of its own: no event loop runs in that of the browser."""
    with ThreadPoolExecutor(1) as thread:
        opening = open_site(tmp_path_factory.mktemp("site"))
        yield thread.submit(opening.__enter__).result()
        thread.submit(opening.__exit__, None, None, None).result()


@pytest.fixture(scope="module")
def filled(site: Site) -> tuple[Busy, list[str]]:
    """What there is, with the tokens of login links."""

    def fill() -> tuple[Busy, list[str]]:
        made = busy.fill(site)
        return made, [site.token(made.account) for _ in range(4)]

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(fill).result()


@pytest.fixture
def visitor(
    site: Site, filled: tuple[Busy, list[str]], browser: Browser
) -> Iterator[BrowserContext]:
    """Signed in as the operator."""
    with visiting(browser) as (context, problems):
        sign_in(context, f"{site.url}/login/{filled[1].pop()}")
        yield context
        assert problems == []


def addresses(made: Busy, token: str) -> dict[str, str]:
    """The address of each page with its path; ``token`` is that of a link which nobody used."""
    given = {
        "chat_id": made.work.id,
        "message_id": made.message,
        "endpoint_id": made.endpoint,
        "event_id": made.delivery,
        "request_id": made.request,
        "schedule_id": made.schedule,
        "account_id": made.account,
        "key_id": made.key,
        "token": token,
    }
    paths = [each.path for each in PAGES if each.get and each.path not in NO_PAGES]
    return {path: path.format(**given) for path in paths}


def test_every_page(
    site: Site, filled: tuple[Busy, list[str]], visitor: BrowserContext, browser: Browser
) -> None:
    """One visit each: wide and light, then narrow and dark."""
    made, tokens = filled
    assert all(asdict(made).values())
    assert {each.path for each in PAGES if each.get} >= NO_PAGES.keys()
    found: list[str] = []
    with visiting(browser) as (stranger, problems):
        pages = {True: stranger.new_page(), False: visitor.new_page()}
        framed = False
        for path, address in addresses(made, tokens[0]).items():
            page = pages[path in SIGNED_OUT]
            answer = page.goto(site.url + address)
            assert answer is not None
            if answer.status != 200:
                found.append(f"{path} answered {answer.status}")
            found += [f"{path}{each}" for each in wrong(page, SIDE if framed else None)]
            framed = framed or page.locator(SIDE).count() > 0
        assert problems == []
    assert found == []


def wrong(page: Page, without: str | None) -> Iterator[str]:
    """What is found on the page, wide and narrow."""
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    yield from (f": {each}" for each in axe(page, without=without))
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    yield from (f", narrow and dark: {each}" for each in axe(page, *CHANGED, without=without))
    for width in (PHONE["width"], *TABLETS):
        page.set_viewport_size({"width": width, "height": PHONE["height"]})
        if wide := page.evaluate(TOO_WIDE):
            yield f" scrolls sideways at {width}: {wide}"


def test_a_list_is_filtered_and_paged_by_keyboard(
    site: Site, filled: tuple[Busy, list[str]], visitor: BrowserContext
) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(busy.add_messages, site, filled[0].account, MORE).result()
    page = visitor.new_page()
    page.goto(f"{site.url}/dashboard/messages")
    page.get_by_label("Text or id").focus()
    page.keyboard.type("report")
    page.keyboard.press("Enter")
    rows = page.locator("main .row")
    expect(page.get_by_role("link", name="Show all")).to_be_visible()
    expect(rows.first).to_contain_text("report")
    page.get_by_role("link", name="Show all").press("Enter")
    page.get_by_role("link", name="Older").press("Enter")
    expect(page.get_by_role("link", name="Newer")).to_be_visible()
    expect(rows).to_have_count(50)


def test_what_is_new_is_counted_until_it_is_wanted(
    site: Site, filled: tuple[Busy, list[str]], visitor: BrowserContext
) -> None:
    page = visitor.new_page()
    page.goto(f"{site.url}/dashboard/requests?status=failed")
    first = page.locator("main .row").first
    shown = first.inner_text()
    busy.refuse(site, filled[0].account)
    new = page.get_by_role("link", name="1 new request: show")
    expect(new).to_be_visible()
    assert first.inner_text() == shown
    new.press("Enter")
    expect(page.get_by_text("teapot")).to_be_visible()
    expect(new).to_have_count(0)
