"""A real server and a real command: the link of the first start, and a later one."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2

from agentpost.serving.welcome import FIRST_START
from tests.waiting import eventually

TIMEOUT_SECONDS = 60
AGENTPOST = [sys.executable, "-m", "agentpost"]


def environment(folder: Path) -> dict[str, str]:
    """As a container would set it; output comes at once."""
    given = {name: value for name, value in os.environ.items() if "AGENTPOST" not in name}
    return {**given, "AGENTPOST_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server on a free port, and what it printed by the time it was ready."""
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [*AGENTPOST, "serve", "--port", "0"],
            cwd=folder,
            env={**environment(folder), "AGENTPOST_LOG_LEVEL": "debug"},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    limit = threading.Timer(TIMEOUT_SECONDS, process.kill)
    limit.start()
    try:
        printed = ""
        for line in process.stdout:
            printed += line
            first, later = FIRST_START in line, "\ndashboard: " in printed
            if first or (later and line.startswith("data: ")):
                break
        address = re.search(r"ready at (\S+)", printed)
        assert address is not None, printed + (folder / "log").read_text()
        wait_until_ready(address[1])
        yield address[1], printed
    finally:
        limit.cancel()
        process.terminate()
        rest, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        (folder / "rest").write_text(rest)


def wait_until_ready(url: str) -> None:
    """The address is printed a moment before the socket listens."""

    def ready() -> bool:
        with contextlib.suppress(httpx2.ConnectError):
            return httpx2.get(f"{url}/readyz").status_code == 200
        return False

    eventually(ready, TIMEOUT_SECONDS, "the server")


def login_link(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AGENTPOST, "login-link", *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def sign_in(link: str) -> int:
    """The status of the dashboard after the button was pressed."""
    with httpx2.Client(follow_redirects=True) as browser:
        assert browser.get(link).status_code == 200
        return browser.post(link).status_code


def test_links_of_the_first_start_and_of_the_command(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, printed):
        kept = re.search(rf"\S+{FIRST_START}", printed)
        assert kept is not None, printed
        links = re.findall(rf"{url}/login/\S+", Path(kept[0]).read_text())
        # The command is told the data folder only, and finds the port the server took.
        made = json.loads(login_link(tmp_path, "owner@localhost", "--json").stdout)
        links += [made["url"], login_link(tmp_path).stdout.strip()]
        assert len(set(links)) == 3
        assert [sign_in(link) for link in links] == [200] * 3
        with httpx2.Client() as browser:
            assert [browser.post(link).status_code for link in links] == [403] * 3
        unknown = login_link(tmp_path, "nobody@localhost")
        assert (unknown.returncode, unknown.stdout) == (1, "")
        assert "Traceback" not in unknown.stderr
    reported = (tmp_path / "log").read_text() + (tmp_path / "rest").read_text()
    assert [link for link in links if link.rpartition("/")[2] in reported] == []

    with serving(tmp_path) as (url, printed):
        assert "/login/" not in printed
        assert f"{url}/dashboard" in printed
