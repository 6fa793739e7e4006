"""A real server and a real command: the link of the first start, and a later one."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2

from agentpost.serving.welcome import FIRST_START
from tests import forking
from tests.waiting import eventually

TIMEOUT_SECONDS = 60


def environment(folder: Path) -> dict[str, str]:
    """As a container would set it; output comes at once."""
    given = {name: value for name, value in os.environ.items() if "AGENTPOST" not in name}
    return {**given, "AGENTPOST_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server on a free port, and what it printed by the time it was ready."""
    output = folder / "output"
    with (folder / "log").open("ab") as log, output.open("wb") as written:
        process = forking.start(
            ["serve", "--port", "0"],
            cwd=folder,
            env={**environment(folder), "AGENTPOST_LOG_LEVEL": "debug"},
            output=written,
            errors=log,
        )

    def welcome() -> str:
        """All of it; none of it before the last line is there."""
        assert process.poll() is None, (folder / "log").read_text()
        printed = output.read_text()
        whole = printed[: printed.rfind("\n") + 1]
        is_later = "\ndashboard: " in whole and "\ndata: " in whole
        return whole if FIRST_START in whole or is_later else ""

    try:
        printed = eventually(welcome, TIMEOUT_SECONDS, "what is printed")
        address = re.search(r"ready at (\S+)", printed)
        assert address is not None, printed + (folder / "log").read_text()
        wait_until_ready(address[1])
        yield address[1], printed
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_SECONDS)


def wait_until_ready(url: str) -> None:
    """The address is printed a moment before the socket listens."""

    def ready() -> bool:
        with contextlib.suppress(httpx2.ConnectError):
            return httpx2.get(f"{url}/readyz").status_code == 200
        return False

    eventually(ready, TIMEOUT_SECONDS, "the server")


def login_link(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forking.run(
        ["login-link", *arguments],
        cwd=folder,
        env=environment(folder),
        timeout=TIMEOUT_SECONDS,
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
    reported = (tmp_path / "log").read_text() + (tmp_path / "output").read_text()
    assert [link for link in links if link.rpartition("/")[2] in reported] == []

    with serving(tmp_path) as (url, printed):
        assert "/login/" not in printed
        assert f"{url}/dashboard" in printed
