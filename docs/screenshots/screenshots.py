"""Make pictures of every web page: light, dark and on a phone, into this folder.

Run by `make screenshots`. It starts a server with the built-in agent, has it do some work, and
photographs the pages with the system's Chromium. Arguments: words of names, to make only those.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page

from tests import servers
from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import DESKTOP, PHONE, started, visiting

FOLDER = Path(__file__).parent
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


def say(server: AgentServer, text: str) -> dict[str, Any]:
    """Send a message with a table and wait until it is final."""
    headers = {"Authorization": f"Bearer {KEY}"}
    body = {"message": text, "files": [{"name": "sales.csv", "base64": _base64(SALES)}]}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=90) as client:
        message: dict[str, Any] = client.post("/v1/messages", json=body).json()
        while not message["final"]:
            message = client.get(f"/v1/messages/{message['id']}?wait=45").json()
    return message


def integrate(server: AgentServer) -> dict[str, str]:
    """A program's day: two keys, an endpoint that is down, some refused requests; paths of them."""
    for name in ("checkout, production", "nightly report"):
        server.command("keys", "create", "--account", "owner@localhost", "--name", name)
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=90) as client:
        body = {"url": "http://127.0.0.1:9/agentpost", "description": "order service"}
        one = f"/v1/webhooks/{client.post('/v1/webhooks', json=body).json()['id']}"
        delivery = client.post(f"{one}/test").json()["id"]
        client.post("/v1/messages", json={"message": ""})
        client.get("/v1/messages/msg_1")
        while client.get(f"{one}/deliveries").json()["data"][0]["attempts"] == 0:
            time.sleep(0.2)
        refused = client.post("/v1/messages", content=b'{"message": 5}').headers["request-id"]
        time.sleep(1)  # the request log is written twice a second
    endpoint = one.replace("/v1", "/dashboard")
    invited = ("--email", "zoe@example.com", "--name", "Zoë’s shop", "--credits", "250")
    other = server.command("accounts", "create", *invited)["id"]
    return {
        "keys": "/dashboard/keys",
        "webhooks": "/dashboard/webhooks",
        "webhook": endpoint,
        "webhook-settings": f"{endpoint}/settings",
        "delivery": f"{endpoint}/deliveries/{delivery}",
        "requests": "/dashboard/requests",
        "request": f"/dashboard/requests/{refused}",
        "credits": "/dashboard/credits",
        "credits-all": "/dashboard/credits?all=",
        "operator": "/dashboard/operator",
        "operator-account": f"/dashboard/operator/accounts/{other}",
        "operator-doctor": "/dashboard/operator/doctor",
    }


def pages(said: list[dict[str, Any]]) -> dict[str, str]:
    """The path of each page by the name of its picture."""
    works = [job["work_id"] for message in said for job in message["jobs"]]
    return {
        "dashboard": "/dashboard",
        "chats": "/chat",
        "chat-work": f"/chat/{works[0]}",
        "messages": "/dashboard/messages",
        "message": f"/dashboard/messages/{said[0]['id']}",
        "sessions": "/sessions",
        "mail": "/mail",
    }


def photograph(browser: Browser, server: AgentServer, name: str, path: str) -> None:
    """One page in each look."""
    for look, options in LOOKS.items():
        with visiting(browser, **options) as (visitor, problems):
            page = visitor.new_page()
            _sign_in(page, server)
            page.goto(server.url + path)
            page.wait_for_load_state("load")
            page.wait_for_timeout(800)  # parts that are loaded when they come into view
            page.screenshot(path=FOLDER / f"{name}-{look}.png", full_page="/chat/" not in path)
            print(f"{name}-{look}.png", *problems)


def _sign_in(page: Page, server: AgentServer) -> None:
    page.goto(server.command("login-link", "owner@localhost")["url"])
    page.get_by_role("button", name="Open the dashboard").click()


def _base64(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


def main(words: list[str]) -> None:
    """Make the pictures whose name has one of the words; all without any."""
    with tempfile.TemporaryDirectory() as folder, started() as browser:
        os.environ[servers.RUN_DIR] = folder
        server = AgentServer(Path(folder) / "server", agent="offline", egress_allow="127.0.0.1")
        server.start()
        try:
            said = [say(server, text) for text in MESSAGES]
            for name, path in {**pages(said), **integrate(server)}.items():
                if not words or any(word in name for word in words):
                    photograph(browser, server, name, path)
        finally:
            server.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
