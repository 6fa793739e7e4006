"""Make pictures of every web page: light, dark and on a phone, into this folder.

Run by `make screenshots`. The chats are those of a server with the built-in agent, which does some
work first; the dashboard is that of `tests.web.busy`. The system's Chromium takes the pictures.
Arguments: words of names, to make only those. The documentation shows the pictures of `SHOWN`; the
others are there to be looked at, and are not kept in the repository.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from PIL import Image
from playwright.sync_api import Browser

from agentpost.domain.times import SECOND
from tests import servers
from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import DESKTOP, PHONE, started, visiting
from tests.web.busy import Busy, fill
from tests.web.site import open_site

FOLDER = Path(__file__).parent
SHOWN = {
    "chat-work-light.png",
    "dashboard-light.png",
    "message-light.png",
    "webhooks-light.png",
    "requests-dark.png",
}
COLOURS = 128
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": DESKTOP, "color_scheme": "light"},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light", "device_scale_factor": 2},
}
SALES = "month,region,revenue\n" + "".join(
    f"2026-{month:02},{region},{100 + month * 7 + len(region) * 11}\n"
    for month in range(1, 7)
    for region in ("North", "South", "West")
)
MESSAGES = ("Chart revenue by month", "Which region grew most?", "Write a report")

SIGN_IN = "/login"


def say(server: AgentServer, text: str) -> dict[str, Any]:
    """Send a message with a table and wait until it is final."""
    headers = {"Authorization": f"Bearer {KEY}"}
    body = {"message": text, "files": [{"name": "sales.csv", "base64": _base64(SALES)}]}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=90) as client:
        message: dict[str, Any] = client.post("/v1/messages", json=body).json()
        while not message["final"]:
            message = client.get(f"/v1/messages/{message['id']}?wait=45").json()
    return message


def chats(said: list[dict[str, Any]]) -> dict[str, str]:
    """The path of each page of chats by the name of its picture."""
    works = [job["work_id"] for message in said for job in message["jobs"]]
    return {"chats": "/chat", "chat-work": f"/chat/{works[0]}"}


def dashboard(made: Busy) -> dict[str, str]:
    """The path of each page of the dashboard by the name of its picture."""
    endpoint = f"/dashboard/webhooks/{made.endpoint}"
    return {
        "dashboard": "/dashboard",
        "messages": "/dashboard/messages",
        "message": f"/dashboard/messages/{made.message}",
        "keys": "/dashboard/keys",
        "webhooks": "/dashboard/webhooks",
        "webhook": endpoint,
        "webhook-settings": f"{endpoint}/settings",
        "delivery": f"{endpoint}/deliveries/{made.delivery}",
        "requests": "/dashboard/requests",
        "request": f"/dashboard/requests/{made.request}",
        "schedules": "/dashboard/schedules",
        "schedule": f"/dashboard/schedules/{made.schedule}",
        "credits": "/dashboard/credits",
        "mail": "/dashboard/mail",
        "users": "/dashboard/users",
        "profile": "/profile",
        "sessions": "/sessions",
        "operator": "/dashboard/operator",
        "operator-account": f"/dashboard/operator/accounts/{made.account}",
        "operator-doctor": "/dashboard/operator/doctor",
        "missing": "/dashboard/nothing",
        "sign-in": SIGN_IN,
    }


def photograph(
    browser: Browser, url: str, links: list[str], paths: dict[str, str], now: float | None = None
) -> None:
    """Each page in each look; ``links`` sign in, one for each look. ``now``: the browser's time, in
    seconds, where the server's is not the real one."""
    for link, (look, options) in zip(links, LOOKS.items(), strict=True):
        with visiting(browser, **options) as (visitor, problems):
            page = visitor.new_page()
            if now is not None:
                page.clock.set_fixed_time(now)
            page.goto(link)
            page.get_by_role("button", name="Open the dashboard").click()
            for name, path in paths.items():
                if path == SIGN_IN:  # the last: for who is signed in, it leads on
                    visitor.clear_cookies()
                page.goto(url + path)
                page.wait_for_load_state("load")
                page.wait_for_timeout(800)  # parts that are loaded when they come into view
                file = FOLDER / f"{name}-{look}.png"
                whole = file.name not in SHOWN and "/chat/" not in path
                page.screenshot(path=file, full_page=whole)
                _shrink(file)
                print(file.name, *problems)
                problems.clear()


def _shrink(file: Path) -> None:
    """As few colours as do: a third of the bytes."""
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def _base64(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


def main(words: list[str]) -> None:
    """Make the pictures whose name has one of the words; all without any."""

    def wanted(paths: dict[str, str]) -> dict[str, str]:
        return {n: p for n, p in paths.items() if not words or any(word in n for word in words)}

    with tempfile.TemporaryDirectory() as folder:
        os.environ[servers.RUN_DIR] = folder
        if not words or any("chat" in word for word in words):
            server = AgentServer(Path(folder) / "server", agent="offline").start()
            try:
                paths = chats([say(server, text) for text in MESSAGES])
                links = [server.command("login-link")["url"] for _ in LOOKS]
                with started() as browser:
                    photograph(browser, server.url, links, wanted(paths))
            finally:
                server.stop()
        home = Path(folder) / "site"
        home.mkdir()
        with open_site(home) as site:
            made = fill(site)
            links = [f"{site.url}/login/{site.token(made.account)}" for _ in LOOKS]
            with started() as browser:
                now = site.clock.now() / SECOND
                photograph(browser, site.url, links, wanted(dashboard(made)), now)


if __name__ == "__main__":
    main(sys.argv[1:])
