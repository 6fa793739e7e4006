"""The first run with the built-in agent: a link, a table, a chart, and its download."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.server import AgentServer
from tests.web.browser.chromium import axe, sign_in

TABLE = "month,revenue\nJan,120\nFeb,135\nMar,128\nApr,151\nMay,170\nJun,182\n"
FETCH = """(url) => fetch(url, { headers: { Range: "bytes=0-4", "If-Match": "*" } })
  .then((answer) => [answer.status, answer.headers.get("Content-Range")])"""
"""What a page of another origin sees of a file."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """A server as anybody starts it."""
    running = AgentServer(tmp_path_factory.mktemp("server"), agent="offline").start()
    yield running
    running.stop()


def test_from_the_link_to_the_downloaded_chart(
    server: AgentServer, visitor: BrowserContext, tmp_path: Path
) -> None:
    page = visitor.new_page()
    page.goto(server.command("login-link")["url"])
    page.get_by_role("button", name="Open the dashboard").click()
    page.get_by_role("link", name="Chats").click()
    expect(page.locator(".examples button")).to_have_count(3)
    table = tmp_path / "umsätze & <b>.csv"
    table.write_text(TABLE)
    page.locator("input[type=file]").set_input_files(table)
    box = page.get_by_label("Message", exact=True)
    box.fill("Chart revenue by month")
    box.press("Enter")
    card = page.get_by_role("article").first
    expect(card.get_by_text("completed", exact=True)).to_be_visible()
    expect(card.get_by_text("steps")).to_be_visible()
    picture = card.locator("img").first
    expect(picture).to_be_visible()
    page.wait_for_function("[...document.images].every((image) => image.naturalWidth > 0)")
    expect(card.get_by_role("region", name="First rows")).to_be_visible()
    assert axe(page) == []
    with page.expect_download() as loading:
        card.get_by_role("link", name="data.csv").evaluate(
            "link => { link.target = ''; link.click(); }"
        )
    loading.value.save_as(tmp_path / "data.csv")
    assert "182" in (tmp_path / "data.csv").read_text()
    page.goto(f"http://localhost:{server.port}/healthz")  # another origin than 127.0.0.1
    size = (tmp_path / "data.csv").stat().st_size
    assert page.evaluate(FETCH, loading.value.url) == [206, f"bytes 0-4/{size}"]
    page.goto(f"{server.url}/dashboard/messages")
    page.locator("main tbody").get_by_role("link", name="Chart revenue by month").click()
    rows = page.get_by_role("region", name="First rows of umsätze")
    expect(rows).to_have_count(0)
    page.get_by_label("Preview of umsätze & <b>.csv").click()
    expect(rows).to_be_visible()
    expect(page).to_have_url(re.compile("/dashboard/messages/msg_"))


def test_each_example_works_at_once(server: AgentServer, visitor: BrowserContext) -> None:
    """One click, and no file of one's own."""
    server.command("accounts", "create", "--email", "new@example.com", "--credits", "20")
    page = visitor.new_page()
    sign_in(visitor, server.command("login-link", "new@example.com")["url"])
    for n, made in enumerate(("sales-chart.png", "", ".pdf")):
        page.goto(f"{server.url}/chat")
        if n == 0:
            page.locator(".examples button").first.click()
        else:
            form = page.request.post(
                f"{server.url}/chat/examples",
                form={"example": str(n)},
                headers={"Origin": server.url},
            )
            page.goto(form.url)
        expect(page.locator(".bubble").get_by_text("sales.csv")).to_be_visible()
        if made:
            card = page.get_by_role("article").first
            expect(card.get_by_text("completed", exact=True)).to_be_visible()
            expect(card.get_by_role("link", name=made).first).to_be_visible()
        else:
            expect(page.locator(".exchange .markdown").first).to_contain_text("South")
