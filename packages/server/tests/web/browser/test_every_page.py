"""Every page with something on it, of errors and previews too, in a real browser: no error, nothing
that axe-core finds, and it fits a phone, in the dark too."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import NamedTuple, TypeVar
from urllib.parse import urljoin

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Response,
    ViewportSize,
    expect,
)

from agentpost.api.app import PREFIX
from agentpost.domain.errors import StoreUnavailable
from agentpost.users.role_rules import Role
from tests.files.test_preview_pages import EXCEL, WORD, ZIP, document, workbook, zip_of
from tests.web import busy
from tests.web.browser.chromium import DESKTOP, PHONE, axe, sign_in, visiting
from tests.web.busy import Busy
from tests.web.site import Site, open_site

T = TypeVar("T")
NO_PAGES = {
    "/": "leads to the dashboard",
    "/mail": "leads to the page of mails",
    "/dashboard/credits/ledger.csv": "a file",
    "/dashboard/credits/usage.csv": "a file",
    "/dashboard/messages/{message_id}/attachments/{n}": "a file",
    "/chat/{work_id}/preview/{path:path}": "a part of a chat",
    "/chat/{work_id}/frame/{path:path}": "made by an agent",
    "/chat/{work_id}/pages/{path:path}": "a picture",
    "/chat/{work_id}/files/{path:path}": "leads to a file",
    "/password/{token}": "opened by a link: test_first_run.py",
    "/oidc": "leads to the provider",
    "/oidc/callback": "leads to the page that was wanted",
    "/static/{hash}/{name}": "styles and scripts",
    "/files/{file_id:path}": "a file",
    "/openapi.json": "for programs",
    "/favicon.ico": "a picture",
    "/healthz": "for programs",
    "/readyz": "for programs",
}
MORE = 60
"""Than one page of a list shows."""
SIDE = ".side"
"""The same on every page."""
SIGNED_OUT = {"/login", "/login/{token}", "/docs", "/docs/errors"}
"""Whoever is signed in sees the dashboard at the first; the others are there for strangers."""
REPEATED = {"/docs": "section:nth-of-type(n+6)"}
"""What is like the rest of a long page, which takes seconds to look through: it has its width
measured only."""
REFUSALS = {
    "nothing there": (404, "stranger", "GET", "/nowhere"),
    "nothing there, signed in": (404, "operator", "GET", "/nowhere"),
    "a session is needed": (401, "stranger", "GET", "/dashboard/keys"),
    "not for a member": (403, "member", "GET", "/dashboard/users"),
    "a login link that was used": (403, "stranger", "GET", "/login/used"),
    "an invitation that was used": (403, "stranger", "GET", "/password/used"),
    "another method": (405, "operator", "DELETE", "/dashboard"),
    "a form of another site": (403, "stranger", "POST", "/login"),
}
"""Pages of errors: status, who asks, method and address."""
POST_FORM = """(action) => {
  const form = Object.assign(document.createElement("form"), { action, method: "POST" });
  document.body.append(form);
  form.submit();
}"""
FAILURES = {500: ZeroDivisionError("of a test"), 503: StoreUnavailable("of a test")}
LONG_WORD = "word" * 200
LINE = "a long line without an end " * 20
PREVIEWS: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "a.csv": ("text/csv", f"name,{LINE}\n1,2\n".encode()),
    "a.txt": ("text/plain", LINE.encode() * 5),
    "a.json": ("application/json", b'{"text": "%s"}' % LINE.encode()),
    "a.md": (
        "text/markdown",
        f"```\n{LINE}{LONG_WORD}\n```\n\n|a|b|\n|-|-|\n|{LINE}|x|\n".encode(),
    ),
    "a.html": ("text/html", b"<p>made</p>"),
    "a.xlsx": (EXCEL, workbook),
    "a.docx": (WORD, document),
    "a.zip": (ZIP, zip_of(**{f"file_{n}__txt": "x" for n in range(50)})),
    "b.zip": (ZIP, b"damaged"),
}
"""Files whose previews differ in what is on them."""
TABLETS = (768, 1024)
TOO_WIDE = """[document.documentElement, ...document.querySelectorAll(".table")]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.outerHTML.slice(0, 60))
  .join()"""
"""Code may scroll in its own box."""
REMOVE = "(which) => document.querySelectorAll(which).forEach(each => each.remove())"
CHANGED = ("color-contrast", "scrollable-region-focusable", "aria-hidden-focus")
"""What may differ between a wide page in the light and a narrow one in the dark."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """In a thread of its own: no event loop runs in that of the browser."""
    with ThreadPoolExecutor(1) as thread:
        opening = open_site(tmp_path_factory.mktemp("site"))
        yield thread.submit(opening.__enter__).result()
        thread.submit(opening.__exit__, None, None, None).result()


def apart(do: Callable[[], T]) -> T:
    """What it returns when it runs in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(do).result()


class Filled(NamedTuple):
    """What there is, with the tokens of login links, that of a member, and the address of a chat
    with a file of each kind."""

    made: Busy
    tokens: list[str]
    member: str
    previews: str


@pytest.fixture(scope="module")
def filled(site: Site) -> Filled:
    def fill() -> Filled:
        made = busy.fill(site)
        tokens = [site.token(made.account) for _ in range(5)]
        eve = site.user("eve@example.com", Role.MEMBER, account_id=made.account)
        work = site.work(made.account)
        for name, (content_type, content) in PREVIEWS.items():
            data = content() if callable(content) else content
            site.stored_file(work, name, content_type, data)
        return Filled(made, tokens, site.token(eve.id), f"/chat/{work.id}")

    return apart(fill)


@pytest.fixture
def visitor(site: Site, filled: Filled, browser: Browser) -> Iterator[BrowserContext]:
    """Signed in as the operator."""
    with visiting(browser) as (context, problems):
        sign_in(context, f"{site.url}/login/{filled.tokens.pop()}")
        yield context
        assert problems == []


def addresses(paths: list[str], made: Busy, token: str) -> dict[str, str]:
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
    return {path: path.format(**given) for path in paths if path not in NO_PAGES}


def test_every_page(site: Site, filled: Filled, visitor: BrowserContext, browser: Browser) -> None:
    """One visit each: wide and light, then narrow and dark."""
    made, tokens = filled.made, filled.tokens
    assert all(asdict(made).values())
    paths = [each.path for each in site.routes if "GET" in each.handlers]
    paths = [path for path in paths if not path.startswith(PREFIX)]
    assert {*paths} >= NO_PAGES.keys()
    found: list[str] = []
    with visiting(browser) as (stranger, problems):
        pages = {True: stranger.new_page(), False: visitor.new_page()}
        framed = False
        for path, address in addresses(paths, made, tokens[0]).items():
            page = pages[path in SIGNED_OUT]
            answer = page.goto(site.url + address)
            assert answer is not None
            if answer.status != 200:
                found.append(f"{path} answered {answer.status}")
            if path in REPEATED:
                found += [f"{path}{each}" for each in too_wide(page)]
                page.evaluate(REMOVE, REPEATED[path])
            without = SIDE if framed and path not in REPEATED else None
            found += [f"{path}{each}" for each in wrong(page, without)]
            framed = framed or page.locator(SIDE).count() > 0
        assert problems == []
    assert found == []


def test_every_refusal(
    site: Site,
    filled: Filled,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []
    with (
        visiting(browser) as (one, _),
        visiting(browser) as (two, _),
        visiting(browser) as (three, _),
    ):
        sign_in(two, f"{site.url}/login/{filled.tokens.pop()}")
        sign_in(three, f"{site.url}/login/{filled.member}")
        pages = {"stranger": one.new_page(), "operator": two.new_page(), "member": three.new_page()}

        def look(name: str, status: int, who: str, method: str, address: str) -> None:
            page = pages[who]
            answer = visited(page, method, site.url + address)
            found.extend(f"{name}{each}" for each in wrong(page, SIDE))
            if answer is None or answer.status != status:
                found.append(f"{name} answered {answer and answer.status}")

        for name, refusal in REFUSALS.items():
            look(name, *refusal)
        for status, error in FAILURES.items():
            with monkeypatch.context() as patch:
                patch.setattr(site.ctx.db, "read", failing(error))
                look("a failure", status, "operator", "GET", "/dashboard")
    assert found == []


def visited(page: Page, method: str, address: str) -> Response | None:
    """Go there; with POST by a form of another site, which localhost is for 127.0.0.1."""
    if method == "POST":
        page.goto(urljoin(address, "/healthz").replace("127.0.0.1", "localhost"))
        with page.expect_navigation() as going:
            page.evaluate(POST_FORM, address)
        return going.value
    page.route("**", lambda route: route.continue_(method=method), times=1)
    return page.goto(address)


def failing(error: Exception) -> Callable[..., object]:
    async def fail(*_: object) -> None:
        raise error

    return fail


def test_every_preview(site: Site, filled: Filled, visitor: BrowserContext) -> None:
    page = visitor.new_page()
    page.goto(site.url + filled.previews)
    expect(page.locator(".preview")).to_have_count(len(PREVIEWS))
    for name in page.locator("summary[aria-label^='Preview of']").all():
        name.click()
    for preview in page.locator(".preview").all():
        preview.scroll_into_view_if_needed()
        expect(preview.get_by_text("Loading a preview")).to_have_count(0)
    assert [*wrong(page, SIDE)] == []


def wrong(page: Page, without: str | None) -> Iterator[str]:
    """What is found on the page, wide and narrow."""
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    yield from (f": {each}" for each in axe(page, without=without))
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    yield from (f", narrow and dark: {each}" for each in axe(page, *CHANGED, without=without))
    yield from too_wide(page)


def too_wide(page: Page) -> Iterator[str]:
    """The narrow widths at which it scrolls sideways."""
    for width in (PHONE["width"], *TABLETS):
        size: ViewportSize = {"width": width, "height": PHONE["height"]}
        if page.viewport_size != size:
            page.set_viewport_size(size)
        if wide := page.evaluate(TOO_WIDE):
            yield f" scrolls sideways at {width}: {wide}"


def test_a_list_is_filtered_and_paged_by_keyboard(
    site: Site, filled: Filled, visitor: BrowserContext
) -> None:
    apart(partial(busy.add_messages, site, filled.made.account, MORE))
    page = visitor.new_page()
    page.goto(f"{site.url}/dashboard/messages")
    page.get_by_label("Search messages").focus()
    page.keyboard.type("report")
    page.keyboard.press("Enter")
    rows = page.locator("main tbody tr")
    expect(page.get_by_role("link", name="Clear")).to_be_visible()
    expect(rows.first).to_contain_text("report")
    expect(rows.first.locator("time")).to_have_attribute("title", re.compile(r"\d{4}.*(UTC|GMT)"))
    page.get_by_text("Status", exact=True).first.press("Enter")
    page.get_by_role("link", name="failed").press("Enter")
    chip = page.get_by_role("link", name="Status: failed")
    expect(chip).to_be_visible()
    assert "q=report" in page.url
    chip.press("Enter")
    expect(chip).to_have_count(0)
    page.get_by_role("link", name="Clear").press("Enter")
    page.get_by_role("link", name="Older").press("Enter")
    expect(page.get_by_role("link", name="Newer")).to_be_visible()
    expect(rows).to_have_count(50)


def test_what_is_new_is_counted_until_it_is_wanted(
    site: Site, filled: Filled, visitor: BrowserContext
) -> None:
    page = visitor.new_page()
    page.goto(f"{site.url}/dashboard/requests?status=failed")
    first = page.locator("main tbody tr").first
    shown = first.inner_text()
    busy.refuse(site, filled.made.account)
    new = page.get_by_role("link", name="Show 1 new request")
    expect(new).to_be_visible()
    assert first.inner_text() == shown
    new.press("Enter")
    expect(page.get_by_text("teapot")).to_be_visible()
    expect(new).to_have_count(0)
