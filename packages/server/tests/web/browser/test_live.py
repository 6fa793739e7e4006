"""An open chat through what happens to servers and tabs: nothing is missed, nothing is lost."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.server import AgentServer
from tests.web.browser.chromium import opened, say, visiting

HIDE = """(is) => {
  Object.defineProperty(document, "hidden", { value: is, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_server_restarts_under_an_open_chat(server: AgentServer, browser: Browser) -> None:
    with visiting(browser) as (visitor, problems):
        page = opened(visitor, server, "/chat")
        say(page, ["start", "Long", [["progress", "Reading"], ["gate", "on"], ["return", "Ready"]]])
        card = page.get_by_role("article", name="Long")
        expect(card.get_by_text("Reading")).to_be_visible()
        box = page.get_by_label("Message", exact=True)
        box.fill("half typed")
        server.stop()
        expect(page.get_by_text("Reconnecting…")).to_be_visible()
        box.press("Enter")
        expect(page.get_by_text("Your text is still here.")).to_be_visible()
        server.start()
        expect(page.get_by_text("Reconnecting…")).to_have_count(0)
        server.open_gate("on")
        expect(card.get_by_text("Ready")).to_be_visible()
        expect(box).to_have_value("half typed")
        box.press("Enter")
        expect(page.get_by_text("You said: half typed")).to_be_visible()
        assert [each for each in problems if "ERR_" not in each and "fetch" not in each] == []


def test_a_hidden_tab_closes_its_stream_and_catches_up(server: AgentServer, page: Page) -> None:
    with page.expect_response(re.compile(r"/chat/\w+\?live=")) as opened:
        say(page, ["start", "Two", [["progress", "One"], ["gate", "two"], ["return", "Seen"]]])
    expect(page.get_by_text("One", exact=True)).to_be_visible()
    with page.expect_event("requestfailed", lambda each: each.url == opened.value.url):
        page.evaluate(HIDE, True)
    server.await_gate("two")
    server.open_gate("two")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_text("Seen", exact=True)).to_be_visible()
    expect(page.get_by_text("Seen", exact=True)).to_have_count(0)
    page.evaluate(HIDE, False)
    expect(page.get_by_text("Seen", exact=True)).to_be_visible()


def test_a_chat_is_deleted_when_it_is_confirmed(page: Page) -> None:
    say(page, ["start", "Doomed", [["return", "Gone soon"]]])
    expect(page.get_by_text("Gone soon", exact=True)).to_be_visible()
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Gone soon", exact=True)).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Chat and files deleted.")).to_be_visible()


def test_a_preview_stays_while_the_page_is_sent_again(page: Page) -> None:
    """It is loaded once."""
    loaded: list[str] = []
    page.on("request", lambda each: loaded.append(each.url) if "/preview/" in each.url else None)
    say(
        page,
        ["start", "Table", [["write", "a.csv", "a,b\n1,2\n"], ["progress", "On"], ["return", "x"]]],
    )
    expect(page.get_by_role("region", name="First rows of a.csv")).to_be_visible()
    say(page, ["reply", "Another one"])
    expect(page.get_by_text("Another one", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="First rows of a.csv")).to_be_visible()
    assert len(loaded) == 1
