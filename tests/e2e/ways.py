"""Plays four requests on a server in this process and prints, for each, the functions they pass.

    python -m tests.e2e.ways FOLDER

The output is JSON: ``{"message": ["api/body.py::read_json", …], …}``, each function once, in the
order in which it was first entered on any thread. What runs in worker processes is not seen.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httpx2

from agentpost.agents import Job, Turn

PACKAGE: Final = "/src/agentpost/"
KEY: Final = "svc_key_" + "f" * 40
READY_SECONDS: Final = 60
CSV: Final = base64.b64encode(b"month,revenue\nJan,1\n").decode()


async def agent(turn: Turn) -> None:
    """Starts a job for a message with a file, and replies to any other."""
    if turn.message.files:
        await turn.start(copy, "Copy the file", file=turn.message.files[0])
    turn.reply("done")


async def copy(job: Job, file: Any) -> str:
    """Reads the file and writes it again."""
    await job.write("copy.csv", await file.path())
    return "copied"


class Recorder:
    """The functions that any thread enters, each once and in order, while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self.names: dict[str, None] = {}

    def install(self) -> None:
        """Watch this thread and those that begin later."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if not (self.is_on and event == "call" and PACKAGE in code.co_filename):
            return
        # The argument of RESUME: 0 where a function begins, else a coroutine goes on.
        if code.co_code[frame.f_lasti + 1] & 3 == 0:
            self.names[f"{code.co_filename.rpartition(PACKAGE)[2]}::{code.co_qualname}"] = None

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        """What is passed within the block; it is in the list after the block."""
        names: list[str] = []
        self.names, self.is_on = {}, True
        try:
            yield names
        finally:
            self.is_on = False
            names += self.names


class Receiver(BaseHTTPRequestHandler):
    """Takes webhooks; `came` says that there was one."""

    came = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        Receiver.came.set()

    def log_message(self, *_: Any) -> None:
        """Standard output is for the result."""


def play(client: httpx2.Client, recorder: Recorder, receiver: str) -> dict[str, list[str]]:
    """The four ways, each played once before it is recorded, since a first call fills caches."""
    results: dict[str, list[str]] = {}

    def record(name: str, way: Callable[[], None]) -> None:
        way()
        with recorder.recording() as names:
            way()
        results[name] = names

    record("message", lambda: message(client))
    record("job", lambda: job(client))
    record("upload", lambda: upload(client))
    body = {"url": receiver, "events": ["message.completed"]}
    endpoint = call(client, "/v1/webhooks", body)["id"]
    record("webhook", lambda: webhook(client, endpoint))
    return results


def call(client: httpx2.Client, path: str, body: object = None) -> Any:
    """POST a body, or an empty one, and read the answer."""
    answer = client.post(path, json=body) if body is not None else client.post(path)
    assert answer.is_success, (path, answer.text)
    return answer.json()


def message(client: httpx2.Client) -> None:
    """A message and its answer."""
    assert call(client, "/v1/messages", {"message": "hello"})["reply"] == "done"


def job(client: httpx2.Client) -> None:
    """A message with a file, its job, and the job's file."""
    files = [{"name": "sales.csv", "base64": CSV}]
    sent = call(client, "/v1/messages", {"message": "copy", "files": files})
    _finish(client, sent)


def _finish(client: httpx2.Client, sent: Any) -> None:
    while not sent["final"]:
        sent = client.get(f"/v1/messages/{sent['id']}?wait=10").json()
    [file] = sent["jobs"][0]["files"]
    assert client.get(file["url"]).is_success


def upload(client: httpx2.Client) -> None:
    """An upload of three steps, and the message that attaches it."""
    content = b"month,revenue\nJan,1\n"
    ticket = call(client, "/v1/uploads", {"filename": "sales.csv", "size": len(content)})
    posted = client.post(ticket["url"], data=ticket["fields"], files={"file": content})
    assert posted.is_success, posted.text
    call(client, f"/v1/uploads/{ticket['upload_id']}/complete")
    _finish(
        client,
        call(client, "/v1/messages", {"message": "copy", "upload_ids": [ticket["upload_id"]]}),
    )


def webhook(client: httpx2.Client, endpoint: str) -> None:
    """A message whose end is delivered, and its delivery recorded."""
    Receiver.came.clear()
    message(client)
    assert Receiver.came.wait(READY_SECONDS)
    pending = f"/v1/webhooks/{endpoint}/deliveries?status=pending"
    until = time.monotonic() + READY_SECONDS
    while client.get(pending).json()["data"] and time.monotonic() < until:
        time.sleep(0.01)


class Companion:
    """Tells the client the port as soon as the server listens (`agentpost.serving.process`)."""

    def __init__(self) -> None:
        self.port = 0
        self.ready = threading.Event()

    def greeting(self, _server: Any, settings: Any) -> str:
        """Called with the settings when the server is ready."""
        self.port = settings.port
        self.ready.set()
        return ""

    async def attend(self, _server: Any) -> None:
        """There is nothing to do beside the server."""


def main() -> None:
    """Serve, play, print."""
    from agentpost.serving import process

    folder = Path(sys.argv[1])
    os.environ["AGENTPOST_BOOTSTRAP_API_KEY"] = KEY
    os.environ["AGENTPOST_LOG_LEVEL"] = "error"
    recorder, companion = Recorder(), Companion()
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    results: dict[str, Any] = {}

    def run() -> None:
        sys.setprofile(None)  # the client is not a part of the server
        try:
            assert companion.ready.wait(READY_SECONDS)
            headers = {"Authorization": f"Bearer {KEY}"}
            base = f"http://127.0.0.1:{companion.port}"
            with httpx2.Client(base_url=base, headers=headers, timeout=30) as client:
                results.update(
                    play(client, recorder, f"http://127.0.0.1:{receiver.server_port}/hooks")
                )
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=run, daemon=True).start()
    recorder.install()
    allow = [f"127.0.0.1:{receiver.server_port}"]
    given = {"port": 0, "agent": f"{__spec__.name}:agent", "data_dir": str(folder / "data")}
    process.run(given | {"egress_allow": allow}, companion)
    sys.setprofile(None)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
