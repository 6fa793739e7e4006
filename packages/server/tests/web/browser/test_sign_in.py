"""The way in with a password, in a real browser: invited, a password chosen, out and in again."""

from playwright.sync_api import Browser, expect

from tests.e2e.server import AgentServer
from tests.web.browser.chromium import PHONE, axe, visiting

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
