"""The first visit: a link that signs in, the dashboard, and work that appears there as it goes."""

import httpx2
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import axe, opened, visiting


def send(server: AgentServer, script: str) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    sent = httpx2.post(f"{server.url}/v1/messages", json={"message": script}, headers=headers)
    assert sent.status_code == 201


def test_work_appears_while_the_page_is_open(server: AgentServer, visitor: BrowserContext) -> None:
    page = visitor.new_page()
    page.goto(server.command("login-link")["url"])
    page.get_by_role("button", name="Open the dashboard").click()
    expect(page).to_have_title("Overview · agentpost")
    expect(page.get_by_text("No chats yet")).to_be_visible()
    send(server, '[["start", "A chart", [["progress", "Reading"], ["return", "Six rows."]]]]')
    expect(page.get_by_role("link", name="A chart", exact=True)).to_be_visible()
    page.get_by_role("link", name="A chart", exact=True).click()
    expect(page.get_by_text("Six rows.", exact=True)).to_be_visible()


def test_the_page_returns_by_itself_after_a_restart(server: AgentServer, browser: Browser) -> None:
    """Whether its stream was open by then or not."""
    with visiting(browser) as (visitor, problems):
        page = opened(visitor, server, "/dashboard")
        page.wait_for_load_state("load")
        for word in ("once", "again"):
            server.stop()
            server.start()
            send(server, word)
            expect(page.locator("#live").get_by_text(f"You said: {word}")).to_be_visible()
        assert [each for each in problems if "ERR_" not in each and "fetch" not in each] == []


def test_the_look_is_kept(server: AgentServer, visitor: BrowserContext) -> None:
    page = opened(visitor, server, "/dashboard")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert axe(page) == []  # chosen, not what the system wants: other rules of the style
