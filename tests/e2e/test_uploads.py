"""Uploads by the clients people have (curl, a browser's `FormData`, our own client and command),
and what a large one costs the server."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentpost_client import Client
from tests import forking
from tests.conformance.conftest import new_bucket, s3_endpoint
from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import CSV, MIB, announce, complete, post
from tests.e2e.receivers import ReceiverMaker
from tests.e2e.server import KEY, AgentServer
from tests.waiting import PATIENCE, eventually
from tests.web.browser import chromium

__all__ = ["s3_endpoint"]

BROWSER_SECONDS = 60.0
BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--no-proxy-server", "--remote-debugging-port=0"),
)
MEMORY_MIB = 60
PENDING_MAX = 200 * MIB
SETTINGS = {"upload_pending_bytes_max": PENDING_MAX}
CHROMIUM = chromium.find_program()


@pytest.fixture(scope="module")
def on_s3(start_server: ServerMaker, s3_endpoint: str) -> AgentServer:
    return start_server(storage_url=new_bucket(s3_endpoint))


@pytest.fixture(params=["server", "on_s3"])
def store(request: pytest.FixtureRequest, callers: Callable[..., Caller]) -> Caller:
    """A caller of a server with each kind of storage."""
    return callers(request.getfixturevalue(request.param))


def arrived(caller: Caller, made: Json, data: bytes) -> None:
    """Complete the upload and let the agent read it."""
    done = complete(caller, made)
    assert (done.status_code, done.json().get("size")) == (200, len(data)), done.text
    message = caller.send([["read"]], upload_ids=[made["upload_id"]])
    assert message["reply"] == data.decode().strip()


def curl_fields(made: Json, file: Path) -> list[str]:
    fields = {**made["fields"], "file": f"@{file}"}
    return [made["url"], *(part for n, v in fields.items() for part in ("-F", f"{n}={v}"))]


# --- the clients people have ----------------------------------------------------------------------
@pytest.mark.rule("createUpload.procedure")
def test_curl(store: Caller, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    file = tmp_path / "\u65e5\u672c \U0001f600.csv"
    file.write_bytes(CSV)
    made = announce(store)
    status = subprocess.run(
        [curl, "-sS", "-o", os.devnull, "-w", "%{http_code}", *curl_fields(made, file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    ).stdout
    assert status == "204"
    arrived(store, made, file.read_bytes())


def test_our_own_client_on_s3(on_s3: AgentServer, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(b"a,b\n" + b"1,2\n" * 100)
    with Client(on_s3.url, KEY) as client:
        upload = client.upload(file)
        assert (upload.status, upload.filename, upload.size) == ("ready", "data.csv", 404)
        message = client.send('[["see"]]', upload_ids=[upload.upload_id])
    assert message.reply is not None
    assert json.loads(message.reply)["files"][0]["size"] == 404


def test_the_command_line(server: AgentServer, tmp_path: Path) -> None:
    file = tmp_path / "big.txt"
    file.write_bytes(b"x" * (11 * MIB))

    def run(*arguments: str) -> Any:
        environment = {**os.environ, "AGENTPOST_URL": server.url, "AGENTPOST_KEY": KEY}
        done = forking.run([*arguments, "--json"], env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    upload = run("upload", str(file))
    by_id = run("send", '[["see"]]', "--upload-id", upload["upload_id"])
    by_name = run("send", '[["see"]]', "--file", str(file))
    for message in (by_id, by_name):
        assert json.loads(message["reply"])["files"][0]["size"] == 11 * MIB


PAGE = """<!doctype html><script>
const made = MADE
async function tell(text) { await fetch("/told", {method: "POST", body: text}) }
(async () => {
  try {
    const form = new FormData()
    for (const [name, value] of Object.entries(made.fields)) form.append(name, value)
    form.append("file", new File(["a,b\\n1,2\\n"], "C:\\\\\\u{1f600}.csv", {type: "text/csv"}))
    const answer = await fetch(made.url, {method: "POST", body: form})
    // Watching the progress makes the browser ask first.
    const second = await new Promise((done, failed) => {
      const request = new XMLHttpRequest()
      request.upload.onprogress = () => {}
      request.onload = () => done(request.status)
      request.onerror = () => failed("the second post failed")
      request.open("POST", made.url)
      request.send(form)
    })
    const wrong = new FormData()
    wrong.append("key", made.fields.key)
    const refused = await fetch(made.url, {method: "POST", body: wrong})
    await tell([answer.status, second, refused.status, (await refused.text()).length > 0].join(" "))
  } catch (error) { await tell("failed: " + error) }
})()
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to try FormData in")
def test_a_browser(caller: Caller, receivers: ReceiverMaker, tmp_path: Path) -> None:
    """On a page of another origin."""
    assert CHROMIUM is not None
    made, page = announce(caller), receivers()
    page.headers["Content-Type"] = "text/html"
    page.body = PAGE.replace("MADE", json.dumps(made)).encode()

    def reported() -> list[bytes]:
        return [each.body for each in page.got if each.path == "/told"]

    browser = subprocess.Popen(
        [CHROMIUM, *BROWSER_OPTIONS, f"--user-data-dir={tmp_path}", page.url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually(reported, BROWSER_SECONDS, "word from the page")
    finally:
        os.killpg(browser.pid, 15)
        browser.wait(PATIENCE)
    assert reported() == [b"204 204 400 true"]
    arrived(caller, made, CSV)


# --- large files and crashes ----------------------------------------------------------------------
def memory_mib(server: AgentServer, field: str) -> int:
    """A line of the server's memory account, VmRSS or VmHWM."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith(field))
    return int(kib) // 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see memory")
def test_a_large_file_passes_in_constant_memory(
    server: AgentServer, caller: Caller, tmp_path: Path
) -> None:
    small, large, size = tmp_path / "small.bin", tmp_path / "large.bin", 150 * MIB
    small.write_bytes(b"x" * 4 * MIB)
    with large.open("wb") as out:
        out.truncate(size)
    with Client(server.url, KEY) as client:
        client.upload(small)  # what the first one loads is no matter of size
        before = memory_mib(server, "VmHWM")
        upload = client.upload(large)
    assert upload.size == size
    assert memory_mib(server, "VmHWM") - before < MEMORY_MIB
    seen = json.loads(caller.send([["see"]], upload_ids=[upload.upload_id])["reply"])
    assert seen["files"][0]["size"] == size


def open_post(made: Json, size: int, sent: bytes) -> socket.socket:
    """Begin a post of ``size`` bytes, send some of them and stay connected."""
    place = urlsplit(made["url"])
    head = b"".join(
        f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'.encode()
        for n, v in made["fields"].items()
    )
    head += b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    connection = socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
    connection.sendall(
        f"POST {place.path} HTTP/1.1\r\nHost: x\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {len(head) + size + 9}\r\n\r\n".encode()
        + head
        + sent
    )
    return connection


def arriving(server: AgentServer) -> set[Path]:
    return set((server.home / "data" / "blobs" / "incoming" / "tmp").iterdir())


def test_a_killed_server_keeps_whole_files_and_no_half_one(
    server: AgentServer, caller: Caller
) -> None:
    posted, ready = announce(caller, size=4), announce(caller, size=4)
    for made in (posted, ready):
        assert post(made, b"abcd").status_code == 204
    complete(caller, ready)
    half = announce(caller, "data.txt", 4 * MIB)
    with open_post(half, 4 * MIB, b"x" * (3 * MIB)):
        eventually(
            lambda: [p for p in arriving(server) if p.stat().st_size >= MIB], what="some bytes"
        )
        server.kill()
    server.start()
    arrived(caller, posted, b"abcd")
    assert caller.send([["read"]], upload_ids=[ready["upload_id"]])["reply"] == "abcd"
    caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{half['upload_id']}/complete")
    data = b"y" * (4 * MIB)
    assert post(half, data).status_code == 204
    assert complete(caller, half).json()["size"] == len(data)


def test_a_client_that_hangs_up_leaves_nothing(server: AgentServer, caller: Caller) -> None:
    made, before = announce(caller, size=4 * MIB), arriving(server)
    with open_post(made, 4 * MIB, b"x" * (3 * MIB)):
        eventually(lambda: arriving(server) - before, what="the beginning")
    eventually(lambda: not arriving(server) - before, what="the end of it")
    caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")


def test_announced_bytes_are_bounded_however_many_calls_come_at_once(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    caller = callers(server, server.new_key("announces"))

    def announce_one(_: int) -> int:
        body = {"filename": "a.bin", "size": PENDING_MAX // 5}
        return caller.http.post("/v1/uploads", json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(announce_one, range(16)))
    assert answers == [201] * 5 + [413] * 11
