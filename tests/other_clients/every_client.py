"""Each of the clients against a server with the tests' agent: `make other-clients`.

They are installed apart (`requirements.txt`), for they are too heavy for every run of the tests.
The front end is used in a browser; a picture of it is left beside them.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.doors.conftest import (
    new_database,
    pytest_runtest_makereport,
    server,
    start_server,
)
from tests.e2e.server import KEY, ROOT, AgentServer
from tests.other_clients.turns import MESSAGES, REPORT, SEE
from tests.servers import free_port
from tests.waiting import eventually
from tests.web.browser import chromium

__all__ = ["new_database", "pytest_runtest_makereport", "server", "start_server"]

PLACE = ROOT / ".tools" / "other-clients"
PYTHON = str(PLACE / "bin" / "python")
QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""None of them calls anybody else."""


def environment(server: AgentServer) -> dict[str, str]:
    """Of a program that calls the server."""
    own = {"AGENTPOST_URL": server.url, "AGENTPOST_KEY": KEY, "PYTHONPATH": str(ROOT)}
    return {**os.environ, **QUIET, **own}


def run(program: str, server: AgentServer, **more: str) -> str:
    """Run a program and return what it prints."""
    command = [PYTHON, "-m", f"tests.other_clients.{program}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment(server), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("program", ["ask_langchain", "ask_litellm"])
def test_chat_completions(program: str, server: AgentServer) -> None:
    assert run(program, server).count("three turns") == 2


@pytest.mark.parametrize("program", ["responses_langchain", "responses_litellm"])
def test_responses(program: str, server: AgentServer) -> None:
    turns = {"TURNS": json.dumps(MESSAGES), "BASE_URL": f"{server.url}/openai/v1", "API_KEY": KEY}
    printed = run(program, server, **turns)
    _, second, third = json.loads(printed.splitlines()[-1])
    assert second == "Report: running\n\nIt is done."
    assert "It is done." in third


def test_a_front_end(server: AgentServer) -> None:
    """Three turns, with a file that is read by its link."""
    with front_end(server) as url, chromium.started() as browser:
        page = browser.new_page(viewport=chromium.DESKTOP)
        page.goto(url)
        say(page, "hello", "You said: hello")
        say(page, REPORT, "It is done.")
        link = page.get_by_role("link", name="report.txt")
        address = link.get_attribute("href")
        assert address is not None
        assert httpx2.get(address).text == "all is well"
        say(page, SEE, '"history"')
        page.screenshot(path=PLACE / "gradio.png", full_page=True)
        assert "It is done." in page.locator(".bot").last.inner_text(), "it sees the turn before"
    messages = server.rows("SELECT conversation_id FROM messages ORDER BY id DESC LIMIT 3")
    assert len({row["conversation_id"] for row in messages}) == 1


def say(page: Page, text: str, answer: str) -> None:
    """Send a text and wait until the answer has that in it."""
    box = page.get_by_role("textbox").last
    box.fill(text)
    box.press("Enter")
    expect(page.locator(".bot").filter(has_text=answer).last).to_be_visible(
        timeout=chromium.PATIENCE_MS
    )


@contextmanager
def front_end(server: AgentServer) -> Iterator[str]:
    """The address of a front end that runs meanwhile."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [PYTHON, "-m", "tests.other_clients.chat_gradio", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(server))

    def is_ready() -> bool:
        assert process.poll() is None, "the front end ended"
        try:
            return httpx2.get(url, timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    try:
        eventually(is_ready, what="the front end")
        yield url
    finally:
        process.terminate()
        process.wait()
