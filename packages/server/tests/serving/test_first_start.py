"""A real server and a real command: the link of the first start, and a later one."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx2

from agentpost.serving.welcome import FIRST_START
from tests import forking
from tests.e2e.server import AgentServer


def login_link(server: AgentServer, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, which is told the data folder only, and finds the port the server took."""
    given = {name: value for name, value in os.environ.items() if "AGENTPOST" not in name}
    environment = {**given, "AGENTPOST_DATA_DIR": str(server.home / "data")}
    return forking.run(["login-link", *arguments], cwd=server.home, env=environment, timeout=60)


def sign_in(link: str) -> int:
    """The status of the dashboard after the button was pressed."""
    with httpx2.Client(follow_redirects=True) as browser:
        assert browser.get(link).status_code == 200
        return browser.post(link).status_code


def test_links_of_the_first_start_and_of_the_command(tmp_path: Path) -> None:
    with AgentServer(tmp_path / "server", bootstrap_api_key="", log_level="debug") as server:
        server.start()
        kept = (server.home / "data" / FIRST_START).read_text()
        links = re.findall(rf"{server.url}/login/\S+", kept)
        made = json.loads(login_link(server, "owner@localhost", "--json").stdout)
        links += [made["url"], login_link(server).stdout.strip()]
        assert len(set(links)) == 3
        assert [sign_in(link) for link in links] == [200] * 3
        with httpx2.Client() as browser:
            assert [browser.post(link).status_code for link in links] == [403] * 3
        unknown = login_link(server, "nobody@localhost")
        assert (unknown.returncode, unknown.stdout) == (1, "")
        assert "Traceback" not in unknown.stderr
        server.stop()
        first = server.log_file.read_text()
        assert [link for link in links if link.rpartition("/")[2] in first] == []
        server.start()
        later = server.log_file.read_text().removeprefix(first)
        assert "/login/" not in later
        assert f"{server.url}/dashboard" in later
