"""agentpost below a path of a site, behind nginx with the file that we deliver for it."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from agentpost_client import Client
from tests.e2e.server import KEY, ROOT, AgentServer
from tests.servers import free_port
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
PREFIX = "/agents"
ODD_NAME = "a b#%?+ä.txt"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture(scope="module")
def site() -> str:
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, site: str) -> Iterator[AgentServer]:
    home, address = tmp_path_factory.mktemp("server"), f"{site}{PREFIX}"
    with AgentServer(home, base_url=address, trusted_proxies="127.0.0.1").start() as node:
        yield node


@pytest.fixture(scope="module")
def base_url(
    server: AgentServer, site: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The server's address below the path, with nginx in front."""
    home = tmp_path_factory.mktemp("nginx")
    config = (ROOT / "deploy/proxy/nginx-prefix.conf").read_text()
    (home / "prefix.conf").write_text(config.replace(":8080", f":{server.port}"))
    folders = "".join(f"{each}_temp_path {home}/{each};\n" for each in _TEMPORARY)
    (home / "nginx.conf").write_text(
        f"daemon off;\npid {home}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{folders}"
        f"server {{\nlisten {site.removeprefix('http://')};\ninclude {home}/prefix.conf;\n"
        "location / { return 404; }\n}\n}\n"
    )
    command = ["nginx", "-p", str(home), "-e", f"{home}/log", "-c", f"{home}/nginx.conf"]
    with subprocess.Popen(command) as nginx:
        eventually(lambda: _answers(f"{site}{PREFIX}/readyz"), what="the start of nginx")
        yield f"{site}{PREFIX}"
        nginx.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 200
    except httpx2.TransportError:
        return False


def test_the_api_files_and_streams(server: AgentServer, base_url: str, tmp_path: Path) -> None:
    """A stream shows an entry while the job still runs; an upload and a link pass the proxy."""
    file = tmp_path / "a.txt"
    file.write_bytes(b"text" * 1_000_000)
    job = f'[["gate", "held"], ["write", "{ODD_NAME}", "x"], ["return", "done"]]'
    with Client(base_url, KEY) as client:
        upload = client.upload(file)
        read = client.send('[["read"]]', upload_ids=[upload.upload_id])
        assert (read.reply or "").startswith("texttext")
        message = client.send(f'[["reply", "On it."], ["start", "Chart", {job}]]', wait=0)
        for part in client.messages.stream(message.id):
            if getattr(part, "type", "") == "agent_reply":
                server.open_gate("held")  # before it, the job does not end
        [result] = client.messages.get(message.id).files
        assert result.name == ODD_NAME
        assert result.url.startswith(f"{base_url}/")
        assert httpx2.get(result.url).content == b"x"
        assert client.files.get(result.file_id).name == ODD_NAME


def test_pages_stay_below_the_path(server: AgentServer, site: str, base_url: str) -> None:
    link = server.command("login-link")["url"]
    assert link.startswith(f"{base_url}/login/")
    with httpx2.Client(follow_redirects=True, headers={"Origin": site}) as browser:
        page = browser.post(link)
        assert (page.status_code, str(page.url)) == (200, f"{base_url}/dashboard")
        targets = re.findall(r'\b(?:href|src|action|hx-[\w:-]+)="(/[^"]*)"', page.text)
        assert targets
        assert [target for target in targets if not target.startswith(f"{PREFIX}/")] == []
        styles = [target for target in targets if "/static/" in target]
        assert {browser.get(site + target).status_code for target in styles} == {200}


def test_only_the_card_is_outside_of_the_path(site: str, base_url: str) -> None:
    card = httpx2.get(f"{site}/.well-known/agent-card.json").json()
    assert {each["url"] for each in card["supportedInterfaces"]} == {f"{base_url}/a2a"}
    assert httpx2.get(f"{base_url}/.well-known/agent-card.json").json() == card
    assert httpx2.get(f"{site}/v1/me").status_code == 404
