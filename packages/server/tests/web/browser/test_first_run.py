"""The first visit: a link that signs in, the dashboard, and work that appears there as it goes."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import PHONE, axe, sign_in, visiting


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """A server whose agent does what a message says."""
    running = AgentServer(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()


def at_dashboard(page: Page, server: AgentServer) -> None:
    sign_in(page.context, server.command("login-link")["url"])
    page.goto(f"{server.url}/dashboard")


def send(server: AgentServer, script: str) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    sent = httpx2.post(f"{server.url}/v1/messages", json={"message": script}, headers=headers)
    assert sent.status_code == 201


def test_work_appears_while_the_page_is_open(
    server: AgentServer, page: Page, tmp_path: Path
) -> None:
    page.goto(server.command("login-link")["url"])
    page.get_by_role("button", name="Open the dashboard").click()
    expect(page).to_have_title("Overview · agentpost")
    expect(page.get_by_text("No chats yet")).to_be_visible()
    send(server, '[["start", "A chart", [["progress", "Reading"], ["return", "Six rows."]]]]')
    expect(page.get_by_role("link", name="A chart", exact=True)).to_be_visible()
    assert axe(page) == []
    page.get_by_role("link", name="A chart", exact=True).click()
    expect(page.get_by_text("Six rows.", exact=True)).to_be_visible()
    assert axe(page) == []


def test_the_page_returns_by_itself_after_a_restart(server: AgentServer, browser: Browser) -> None:
    """Whether its stream was open by then or not."""
    with visiting(browser) as (visitor, problems):
        page = visitor.new_page()
        at_dashboard(page, server)
        page.wait_for_load_state("load")
        for word in ("once", "again"):
            server.stop()
            server.start()
            send(server, word)
            expect(page.locator("#live").get_by_text(f"You said: {word}")).to_be_visible()
        assert [each for each in problems if "ERR_" not in each and "fetch" not in each] == []


def test_the_menu_on_a_phone_works_without_a_mouse(server: AgentServer, browser: Browser) -> None:
    with visiting(browser, viewport=PHONE, color_scheme="dark") as (visitor, problems):
        page = visitor.new_page()
        at_dashboard(page, server)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"], "the page is wider than the phone"
        page.get_by_label("Menu", exact=True).focus()
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Sessions").click()
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
        assert axe(page) == []
        assert problems == []


def test_the_look_is_kept(server: AgentServer, page: Page) -> None:
    at_dashboard(page, server)
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert axe(page) == []


def test_pages_are_small_and_quick_to_read(server: AgentServer, browser: Browser) -> None:
    """First load on the wire, and without a script."""
    with visiting(browser, java_script_enabled=False) as (visitor, problems):
        page = visitor.new_page()
        page.goto(server.command("login-link")["url"])
        page.get_by_role("button", name="Open the dashboard").click()
        expect(page.get_by_role("heading", name="Recent chats")).to_be_visible()
        assert problems == []
    with visiting(browser) as (visitor, problems):
        sizes: list[int] = []
        sign_in(visitor, server.command("login-link")["url"])
        fresh = visitor.new_page()
        session = visitor.new_cdp_session(fresh)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on(
            "Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"])
        )
        fresh.goto(f"{server.url}/dashboard")
        fresh.wait_for_load_state("load")
        assert sizes
        assert sum(sizes) <= 60_000
        assert problems == []
