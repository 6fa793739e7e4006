"""Plays four requests on a server in this process and prints, for each, the functions they pass.

    python -m tests.e2e.ways FOLDER

The output is JSON: ``{"message": ["api/body.py::read_json", …], …}``, each function once, in the
order in which it was first entered on any thread. What runs in worker processes is not seen.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2

from agentpost.agents import Job, Turn
from benchmarks.tracing import KEY, READY_SECONDS, Recorder, serve
from tests.e2e.receivers import Receiver, receiving

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


def play(client: httpx2.Client, recorder: Recorder, receiver: Receiver) -> dict[str, list[str]]:
    """The four ways, each played once before it is recorded, since a first call fills caches."""
    results: dict[str, list[str]] = {}

    def record(name: str, way: Callable[[], None]) -> None:
        way()
        _await_quiet(recorder)
        recorder.is_on = True
        way()
        recorder.is_on = False
        results[name] = recorder.take()

    record("message", lambda: message(client))
    record("job", lambda: job(client))
    record("upload", lambda: upload(client))
    body = {"url": receiver.url, "events": ["message.completed"]}
    endpoint = call(client, "/v1/webhooks", body)["id"]
    record("webhook", lambda: webhook(client, endpoint, receiver))
    return results


def _await_quiet(recorder: Recorder) -> None:
    """Wait until what the last request left to be written is written: no function is entered."""
    until, recorder.is_on = time.monotonic() + READY_SECONDS, True
    recorder.take()
    while time.monotonic() < until:
        time.sleep(0.05)
        if not recorder.take():
            break
    else:
        raise AssertionError("the server does not come to rest")
    recorder.is_on = False


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


def webhook(client: httpx2.Client, endpoint: str, receiver: Receiver) -> None:
    """A message whose end is delivered, and its delivery recorded."""
    count = len(receiver.got)
    message(client)
    receiver.await_count(count + 1, READY_SECONDS)
    pending = f"/v1/webhooks/{endpoint}/deliveries?status=pending"
    until = time.monotonic() + READY_SECONDS
    while client.get(pending).json()["data"] and time.monotonic() < until:
        time.sleep(0.01)


def main() -> None:
    """Serve, play, print."""
    recorder = Recorder(begun_only=True)
    results: dict[str, list[str]] = {}

    def run(port: int) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        base = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=base, headers=headers, timeout=30) as client:
            results.update(play(client, recorder, receiver))

    agent_ref = f"{__spec__.name}:agent"
    with receiving(204) as receiver:
        address = f"127.0.0.1:{receiver.port}"
        serve(Path(sys.argv[1]), recorder, run, agent=agent_ref, egress_allow=[address])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
