"""A disk that is full: said plainly, nothing half recorded, and over when there is room again.

A limit on the size of the server's files stands for the disk; it can be set and lifted from here.
"""

import json
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import httpx2
import pytest

from tests import forking
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import announce, complete, post, problem
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

MIB = 2**20
LARGE = "YWFh" * (8 * MIB // 3)  # 8 MB
TABLES = ("messages", "attachments", "files", "conversations", "entries", "uploads")


@pytest.fixture
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(metrics_token="m")


@contextmanager
def files_up_to(server: AgentServer, size: int) -> Iterator[None]:
    """No file of the server grows beyond that."""
    assert server.process is not None
    pid, before = server.process.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def rows(server: AgentServer) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{server.home}/data/agentpost.db?mode=ro", uri=True)) as db:
        return {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in TABLES}


def blobs(server: AgentServer) -> int:
    return sum(path.is_file() for path in (server.home / "data" / "blobs").rglob("*"))


def send(caller: Caller, key: str, **body: object) -> httpx2.Response:
    headers = {"Idempotency-Key": key}
    return caller.http.post("/v1/messages", json={"message": "hi", **body}, headers=headers)


def assert_plain_fault(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["error"]) == (500, "internal")
    for reported in ("Error", "errno", "/", "disk", "sqlite"):
        assert reported not in answer.json()["message"]


def test_files_that_do_not_fit(server: AgentServer, callers: Callable[..., Caller]) -> None:
    caller = callers(server)
    files = [{"name": f"{n}.txt", "base64": data} for n, data in enumerate(["YWFh", LARGE])]
    made = announce(caller, size=8 * MIB)
    before = rows(server)
    with files_up_to(server, 6 * MIB):
        for _ in range(3):
            assert_plain_fault(send(caller, "large", files=files))
            assert problem(post(made, b"x" * 8 * MIB)) == (500, "InternalError")
        assert rows(server) == before
        eventually(lambda: blobs(server) == 0, what="what was stored of it going")
        caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")
        assert send(caller, "small").status_code == 201, "small ones still fit"
    assert send(caller, "large", files=files).status_code == 201
    assert post(made, b"x" * 8 * MIB).status_code == 204
    assert complete(caller, made).json()["size"] == 8 * MIB


def test_a_database_that_cannot_grow(server: AgentServer, callers: Callable[..., Caller]) -> None:
    caller = callers(server)
    message = caller.send([["reply", "before"]])
    before = rows(server)
    with files_up_to(server, 4_096):
        for n in range(3):
            assert_plain_fault(send(caller, f"{n}"))
            assert caller.get(message["id"])["reply"] == "before", "what is there can be read"
        assert rows(server) == before
    assert [send(caller, f"{n}").status_code for n in range(3)] == [201, 201, 201]
    assert [send(caller, f"{n}").status_code for n in range(3)] == [200, 200, 200]
    assert rows(server)["messages"] == before["messages"] + 3


def test_a_turn_under_way_ends_when_there_is_room(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    """Its end is written until it is written: the answer is there, and nobody else has it."""
    server = start_server(turn_reply_seconds=0.1)
    caller = callers(server)
    message = caller.send([["gate", "full"], ["reply", "made it"]])
    server.await_gate("full")
    with files_up_to(server, 4_096):
        server.open_gate("full")
        eventually(
            lambda: "result_not_recorded" in server.log_file.read_text(), what="a failed try"
        )
        assert caller.get(message["id"])["status"] == "processing"
    assert caller.get(message["id"], wait=20)["reply"] == "made it"


@contextmanager
def under_the_floor(server: AgentServer) -> Iterator[None]:
    """No disk has the space that the setting asks for, which is read again."""
    settings = server.home / "agentpost.toml"
    for least in (10**15, 0):
        settings.write_text(f"free_space_min_bytes = {least}\n")
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        line = f'"free_space_min_bytes": {least}'
        eventually(lambda: line in server.log_file.read_text(), what="the setting")  # noqa: B023
        if least:
            yield


@contextmanager
def storage_away(server: AgentServer) -> Iterator[None]:
    """The folder for files is not mounted."""
    folder = server.home / "data" / "blobs"
    folder.rename(folder.with_name("away"))
    try:
        yield
    finally:
        folder.with_name("away").rename(folder)


@pytest.mark.parametrize(
    ("without", "cause", "ready"),
    [
        (under_the_floor, "no space for files at the moment (free_space_min_bytes)", "problems"),
        (storage_away, "the file storage, which does not take files", "failing"),
    ],
)
def test_a_job_that_waits_for_space_says_so_and_goes_on(
    server: AgentServer,
    callers: Callable[..., Caller],
    without: Callable[[AgentServer], AbstractContextManager[None]],
    cause: str,
    ready: str,
) -> None:
    """Where the client looks, and where the operator does; without being run again and again."""
    caller = callers(server)
    gate = without.__name__
    job = [["gate", gate], ["write", "a.txt", "worth waiting for"], ["return", "stored"]]
    message = caller.send([["start", "Write", job]])
    server.await_gate(gate)
    [row] = server.rows("SELECT id, epoch FROM jobs WHERE state = 'running'")

    def steps_shown() -> list[str]:
        return [each["step"] for each in caller.log(message["id"]) if each["type"] == "progress"]

    def found() -> list[str]:
        done = forking.run(["doctor", "--json"], env=server._environment(), cwd=server.home)
        findings = json.loads(done.stdout)["findings"]
        return [each["problem"] for each in findings if each["id"] == row["id"]]

    def metric() -> bool:
        asked = {"Authorization": "Bearer m"}
        text = httpx2.get(f"{server.url}/metrics", headers=asked, timeout=PATIENCE).text
        return "agentpost_runs_waiting_for_storage 1.0" in text

    with without(server):
        server.open_gate(gate)
        eventually(
            lambda: any(cause in step for step in steps_shown()), what="a word to the client"
        )
        eventually(metric, what="the metric")
        eventually(
            lambda: (
                "free_space_min_bytes" in str(ready_body(server).get(ready))
                or "Files cannot be stored" in str(ready_body(server).get(ready))
            ),
            what="a word at /readyz",
        )
        if without is under_the_floor:  # a doctor beside the server makes the folder that is away
            eventually(lambda: any("waits to store a file" in each for each in found()))
        assert '"file_waits"' in server.log_file.read_text()
    began = time.monotonic()
    assert caller.final(message["id"])["status"] == "completed"
    assert time.monotonic() - began < PROMPT
    assert len([step for step in steps_shown() if "Waits" in step]) == 1
    assert server.rows(f"SELECT epoch FROM jobs WHERE id = '{row['id']}'") == [
        {"epoch": row["epoch"]}
    ]
    eventually(lambda: found() == [], what="nothing for the doctor to say")
    eventually(lambda: ready_body(server) == {"status": "ready"}, what="readiness")


def ready_body(server: AgentServer) -> dict[str, Any]:
    body: dict[str, Any] = httpx2.get(f"{server.url}/readyz", timeout=PATIENCE).json()
    return body
