"""The programs of `docs/api.md` run as they stand, against a server with the built-in agent."""

import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from agentpost.serving.welcome import SAMPLE
from tests.docs.snippets import write_programs
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS
from tests.servers import free_port
from tests.waiting import eventually

PAGE = DOCS / "api.md"
HEADERS = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AgentServer]:
    """It may call receivers on this machine, as the page says."""
    write_programs(PAGE, tmp_path)
    started = AgentServer(tmp_path / "server", agent="offline", egress_allow="127.0.0.0/8").start()
    yield started
    started.stop()


def test_the_upload(server: AgentServer, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(SAMPLE)
    sent = subprocess.run(
        [sys.executable, "upload.py", "sales.csv"],
        cwd=tmp_path,
        env={**os.environ, "AGENTPOST_URL": server.url, "AGENTPOST_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert sent.returncode == 0, sent.stderr
    path = f"{server.url}/v1/messages/{sent.stdout.strip()}"

    def look() -> bool:
        message = httpx2.get(path, headers=HEADERS).json()
        return bool(message["final"]) and [file["name"] for file in message["files"]] != []

    eventually(look, what="the chart")


def test_the_receiver(server: AgentServer, tmp_path: Path) -> None:
    port = free_port()
    with httpx2.Client(base_url=server.url, headers=HEADERS, timeout=60) as http:
        made = http.post("/v1/webhooks", json={"url": f"http://127.0.0.1:{port}/hooks"}).json()
        secret = made["secret"]
        heard = tmp_path / "heard"
        with (
            heard.open("w") as out,
            subprocess.Popen(
                [sys.executable, "receiver.py"],
                cwd=tmp_path,
                env={**os.environ, "PORT": str(port), "WEBHOOK_SECRET": secret},
                stdout=out,
                stderr=subprocess.DEVNULL,
            ) as receiver,
        ):
            try:
                forged = f"http://127.0.0.1:{port}/hooks"
                eventually(lambda: _status(forged) == 401, what="the receiver")
                http.post(f"/v1/webhooks/{made['id']}/test")
                files = [{"name": "sales.csv", "base64": b64encode(SAMPLE.encode()).decode()}]
                asked = {"message": "Chart revenue by month", "files": files}
                message = http.post("/v1/messages", json=asked).json()
                eventually(lambda: _all_delivered(http, made["id"], 3), what="the deliveries")
            finally:
                receiver.terminate()
        job = message["jobs"][0]["job_id"]
        assert sorted(heard.read_text().splitlines()) == [
            f"job.completed {message['id']} {job} completed",
            f"message.completed {message['id']} completed",
        ]


def _all_delivered(http: httpx2.Client, endpoint_id: str, count: int) -> bool:
    found = http.get(f"/v1/webhooks/{endpoint_id}").json()["recent_deliveries"]
    return [each["status"] for each in found] == ["delivered"] * count


def _status(url: str) -> int | None:
    """What an unsigned call is answered; None while nobody listens."""
    try:
        return httpx2.post(url, content=b"{}").status_code
    except httpx2.TransportError:
        return None
