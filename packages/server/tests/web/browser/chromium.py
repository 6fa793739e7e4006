"""A real Chromium for tests: the one that the system has.

Its pages may show no error: what the browser complains about, a breach of the content security
policy included, fails the test.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE

# The headless shell, without the windows of a browser, needs half the CPU.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
MISSING = (
    "no Chromium on PATH: make test installs it as root; otherwise install it with your package"
    " manager"
)
AXE = Path(__file__).with_name("axe.js")
PHONE: ViewportSize = {"width": 375, "height": 812}
DESKTOP: ViewportSize = {"width": 1280, "height": 860}
USUAL = {"viewport": DESKTOP, "locale": "en-GB", "reduced_motion": "reduce"}
"""What moves would be drawn anew as long as a page is open, sixty times a second."""
PATIENCE_MS = PATIENCE * 1_000
expect.set_options(timeout=PATIENCE_MS)


def find_program() -> str | None:
    """The program's path; None when there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser of its own. The thread can run no other event loop meanwhile."""
    sandbox = [] if os.getuid() else ["--no-sandbox"]  # which root cannot have
    arguments = ["--disable-gpu", "--disable-software-rasterizer", *sandbox]  # nobody looks
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visiting(browser: Browser, **options: Any) -> Iterator[tuple[BrowserContext, list[str]]]:
    """A visitor with cookies of its own, and what its pages complained about so far."""
    problems: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.text} ({message.location.get('url', '')})")

    context = browser.new_context(**{**USUAL, **options})
    context.set_default_timeout(PATIENCE_MS)
    context.on("console", said)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    try:
        yield context, problems
    finally:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")  # one that waits could hold the page open
        context.close()


def sign_in(context: BrowserContext, link: str) -> None:
    """Make the visitor one who has opened that login link before; no page is loaded for it."""
    origin = urljoin(link, "/")
    ((name, value),) = httpx2.post(link).cookies.items()
    context.add_cookies([{"name": name, "value": value, "url": origin}])


def opened(context: BrowserContext, server: AgentServer, path: str) -> Page:
    """A page of a visitor who is signed in as the server's first user."""
    sign_in(context, server.command("login-link")["url"])
    page = context.new_page()
    page.goto(server.url + path)
    return page


def say(page: Page, *operations: object) -> None:
    """Write a text, or a script of the agent, in the composer, and send it with Enter."""
    box = page.get_by_label("Message", exact=True)
    box.fill(operations[0] if isinstance(operations[0], str) else json.dumps(operations))
    box.press("Enter")
    page.wait_for_url("**/chat/*")  # of a new chat; the list of chats may show the answer before


def axe(page: Page, *rules: str, without: str | None = None) -> list[str]:
    """What axe-core finds wrong with the page as it is: rule, how bad, and the elements.

    Args:
        page: the page.
        rules: only these; without any, all.
        without: a selector of what is left out.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    run = """([rules, without]) => axe
        .run(
            { include: document, ...(without && { exclude: without }) },
            {
                iframes: false, // a frame without rights answers nobody
                resultTypes: ["violations"],
                ...(rules.length && { runOnly: rules }),
            },
        )
        .then((all) => all.violations)"""
    found: list[dict[str, Any]] = page.evaluate(run, [rules, without])
    return [
        f"{each['id']} ({each['impact']}): {', '.join(str(n['target']) for n in each['nodes'])}"
        for each in found
    ]


@cache
def _axe() -> str:
    return AXE.read_text("utf-8")
