"""The first visit: a link that signs in, the dashboard, and work that appears there as it goes. And
the way in with a password."""

import httpx2
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import PHONE, axe, opened, visiting


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


PASSWORD = "correct horse battery"


def test_from_an_invitation_to_a_session(server: AgentServer, browser: Browser) -> None:
    ada = server.command("users", "create", "--email", "ada@example.com", "--role", "owner")
    with visiting(browser, viewport=PHONE, color_scheme="dark") as (visitor, problems):
        page = visitor.new_page()
        page.goto(ada["url"])
        assert axe(page) == []
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Save and sign in").click()
        expect(page.locator("#main")).to_be_visible()  # signed in: going on earlier would undo it
        page.goto(f"{server.url}/dashboard/users")
        expect(page.get_by_role("main").get_by_text("ada@example.com", exact=True)).to_be_visible()
        page.get_by_label("E-mail address").fill("bob@example.com")
        page.get_by_role("button", name="Invite").click()
        expect(page.get_by_role("heading", name="bob@example.com is invited")).to_be_visible()
        assert axe(page) == []
        bob = server.command("users", "password-link", "bob@example.com")
        page.goto(bob["url"])
        expect(page.get_by_role("button", name="Accept and sign in")).to_be_visible()
        assert axe(page) == []
        page.goto(f"{server.url}/sessions")
        page.get_by_label("Menu", exact=True).press("Enter")
        page.get_by_role("button", name="Log out", exact=True).click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert problems == []
        page.goto(f"{server.url}/dashboard/keys")  # back there after signing in; a 401 until then
        page.get_by_label("E-mail address").fill("ada@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="API keys")).to_be_visible()
        assert [each for each in problems if "401" not in each] == []
