"""Stored markup planted wherever somebody's text gets in, and every page visited: nothing runs,
nothing is asked for elsewhere, and no browser complains."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Dialog, Page, Request, expect

from agentpost.web.page import Page as WebPage
from agentpost.web.routes import PAGES
from tests.e2e.receivers import Receiver, receiving
from tests.e2e.server import ACCOUNT, KEY, AgentServer
from tests.web.browser.chromium import sign_in

HOST = "evil.invalid"
EVIL = f"\"'><img src=//{HOST}/i onerror=alert(1)><script>alert(2)</script>{{{{7*7}}}}"
SHORT = "<svg onload=alert(3)>"
MARKDOWN = (
    f"{EVIL}\n\n[a](javascript:alert(4)) ![b](//{HOST}/b.png) <javascript:alert(5)>\n\n"
    f"# {EVIL}\n\n| {EVIL} |\n|---|\n| x |"
)
FILES = {
    "a.html": f"<!doctype html><p>made</p>{EVIL}<link rel=stylesheet href=//{HOST}/s.css>",
    "b.md": MARKDOWN,
    "c.svg": f'<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><image href="//{HOST}"/></svg>',
    "d.csv": f"{EVIL.replace(',', '')};b\n{SHORT};=HYPERLINK(1)\n",
    "e.json": json.dumps({EVIL: EVIL}),
    f"{SHORT.replace('/', '')}.txt": EVIL,
}
MOST = {"/chat/{chat_id}": 4, "/dashboard/requests/{request_id}": 2}
"""How many pages of a kind are visited; one of the others."""
NOT_PAGES = ("/preview/", "/frame/", "/pages/", "/files/", "/attachments/", "/login/", ".csv")
"""Loaded by pages, or downloads."""


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving(500) as made:
        made.body = EVIL.encode()
        made.headers["X-Evil"] = SHORT
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[AgentServer]:
    """A server full of hostile texts."""
    allowed = json.dumps([f"127.0.0.1:{receiver.port}"])
    home = tmp_path_factory.mktemp("server")
    running = AgentServer(home, egress_allow=allowed).start()
    plant(running, receiver)
    yield running
    running.stop()


def plant(server: AgentServer, receiver: Receiver) -> None:
    server.command("keys", "create", "--account", ACCOUNT, "--name", SHORT)
    server.command("accounts", "create", "--email", "eve@example.com", "--name", SHORT)
    headers = {"Authorization": f"Bearer {KEY}", "User-Agent": SHORT}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as api:
        endpoint = {"url": f"{receiver.url}?a=%3Cscript%3E", "description": EVIL[:100]}
        assert api.post("/v1/webhooks", json=endpoint).status_code == 201
        writes = [["write", name, content] for name, content in FILES.items()]
        job = [["progress", EVIL], *writes, ["return", MARKDOWN]]
        messages = [
            [["start", EVIL, job], ["reply", MARKDOWN]],
            [["start", SHORT, [["fail", EVIL]]]],
            [["ask", EVIL]],
        ]
        for n, script in enumerate(messages):
            body = {
                "message": json.dumps(script),
                "metadata": {SHORT: EVIL},
                "conversation": f"{SHORT}{n}",
                "files": [{"name": f"{SHORT}.csv", "base64": "YSxiCjEsMgo="}],
            }
            sent = api.post(
                f"/v1/messages?q={SHORT}", json=body, headers={"Idempotency-Key": f"{SHORT}{n}"}
            )
            assert sent.status_code == 201, sent.text
            api.get(f"/v1/messages/{sent.json()['id']}?wait=20")
        planned = {"cron": "0 9 * * 1", "message": {"message": EVIL, "metadata": {SHORT: EVIL}}}
        assert api.post("/v1/schedules", json=planned).status_code == 201
        api.get(f"/v1/{SHORT}")
        api.post("/v1/messages", json={EVIL: EVIL})
    receiver.await_count(1)


def test_nothing_hostile_gets_through(
    visitor: BrowserContext, server: AgentServer, tmp_path: Path
) -> None:
    """One test, some seconds: it visits every page there is."""
    dialogs: list[str] = []
    strangers: list[str] = []

    def opened(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page = visitor.new_page()
    page.on("dialog", opened)

    def ended(request: Request) -> None:
        """Those in the frame of a made page end where they begin: its policy allows none."""
        if HOST in urlsplit(request.url).netloc and request.failure != "csp":
            strangers.append(f"{request.url} {request.failure}")

    visitor.on("requestfailed", ended)
    visitor.on("requestfinished", ended)
    sign_in(visitor, server.command("login-link", ACCOUNT)["url"])
    page.goto(f"{server.url}/chat")
    evil = tmp_path / f"{EVIL.replace('/', '')}.txt"
    evil.write_text(EVIL)
    page.locator("input[type=file]").set_input_files(evil)
    page.get_by_label("Message", exact=True).fill(EVIL)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/chat/cnv_*")
    expect(page.get_by_text("onerror=alert(1)").first).to_be_visible()
    expect(page.get_by_text(f"You said: {EVIL}")).to_be_visible()
    parts: list[str] = []
    page.on("response", lambda each: parts.append(each.url))
    assert visited(page, server.url) == expected()
    for name in ("preview/a.html", "frame/a.html", "preview/b.md", "preview/d.csv"):
        assert any(name in url for url in parts), name
    assert dialogs == []
    assert strangers == []


def visited(page: Page, url: str) -> set[str]:
    """Follows the links of every page to all others; the paths of the pages."""
    kinds = [(each.path, re.compile(re.sub(r"\{\w+\}", r"[^/?]+", each.path))) for each in PAGES]
    left = [path for path in expected() if "{" not in path]
    seen: dict[str, set[str]] = {}
    while left:
        path = left.pop()
        kind = next((name for name, shape in kinds if shape.fullmatch(path)), "")
        if (
            kind not in expected()
            or path in seen.setdefault(kind, set())
            or len(seen[kind]) >= MOST.get(kind, 1)
        ):
            continue
        seen[kind].add(path)
        answer = page.goto(url + path)
        assert answer is not None
        assert answer.status == 200, path
        for fold in page.locator("details.fold > summary").all():
            fold.press("Enter")  # a click is lost when previews above move it meanwhile
        for preview in page.locator(".preview").all():
            preview.scroll_into_view_if_needed()
            expect(preview.get_by_text("Loading a preview…")).to_have_count(0)
        assert page.locator("[onerror], [onload], main script").count() == 0, path
        found = page.eval_on_selector_all("main a[href]", "links => links.map((a) => a.href)")
        left += [urlsplit(each).path for each in found if each.startswith(f"{url}/")]
    return set(seen)


def expected() -> set[str]:
    return {
        each.path
        for each in PAGES
        if isinstance(each, WebPage) and each.get and not any(n in each.path for n in NOT_PAGES)
    }
