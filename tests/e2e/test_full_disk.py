"""A disk that is full: said plainly, nothing half recorded, and over when there is room again; what
could not be recorded never looks like the agent's fault (design: Faults of our own).

A limit on the size of the server's files stands for the disk; it can be set and lifted from here.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import httpx2
import pytest

from tests.e2e.agents import Script
from tests.e2e.caller import Caller, kinds
from tests.e2e.posting import announce, complete, post, problem
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

MIB = 2**20
LARGE = "YWFh" * (8 * MIB // 3)  # 8 MB
TABLES = ("messages", "attachments", "files", "conversations", "entries", "uploads")
SOON_SECONDS = 60.0
SETTINGS = {
    "metrics_token": "m",
    "bootstrap_credits": 1000,
    "constants": {"agentpost.tasks.background._CHECK_SECONDS": 0.2},
}


def rows(server: AgentServer) -> dict[str, int]:
    return {t: server.rows(f"SELECT count(*) AS n FROM {t}")[0]["n"] for t in TABLES}


def blobs(server: AgentServer) -> int:
    return sum(path.is_file() for path in (server.home / "data" / "blobs").rglob("*"))


def traces(server: AgentServer, name: str) -> Counter[str]:
    """How often each step of that name began."""
    began = [line.split() for line in server.trace() if line.startswith(f"{name}.")]
    assert len({tuple(line) for line in began}) == len({step for step, _ in began}), "one key each"
    return Counter(step for step, _ in began)


def send(caller: Caller, key: str, **body: object) -> httpx2.Response:
    headers = {"Idempotency-Key": key}
    return caller.http.post("/v1/messages", json={"message": "hi", **body}, headers=headers)


def assert_plain_fault(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["error"]) == (500, "internal")
    for reported in ("Error", "errno", "/", "disk", "sqlite"):
        assert reported not in answer.json()["message"]


# --- what arrives ---------------------------------------------------------------------------------
def test_files_that_do_not_fit(server: AgentServer, caller: Caller) -> None:
    files = [{"name": f"{n}.txt", "base64": data} for n, data in enumerate(["YWFh", LARGE])]
    made = announce(caller, size=8 * MIB)
    before, stored = rows(server), blobs(server)
    with server.files_up_to(6 * MIB):
        for _ in range(3):
            assert_plain_fault(send(caller, "large", files=files))
            assert problem(post(made, b"x" * 8 * MIB)) == (500, "InternalError")
        assert rows(server) == before
        eventually(lambda: blobs(server) == stored, what="what was stored of it going")
        caller.refusal(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")
        assert send(caller, "small").status_code == 201, "small ones still fit"
    assert send(caller, "large", files=files).status_code == 201
    assert post(made, b"x" * 8 * MIB).status_code == 204
    assert complete(caller, made).json()["size"] == 8 * MIB


def test_a_database_that_cannot_grow(server: AgentServer, caller: Caller) -> None:
    """Nor can the doctor who looks at it write."""
    message = caller.send([["reply", "before"]])
    before = rows(server)
    with server.files_up_to(0):
        for n in range(3):
            assert_plain_fault(send(caller, f"{n}"))
            assert caller.get(message["id"])["reply"] == "before", "what is there can be read"
        assert rows(server) == before
        eventually(lambda: [*server.readiness()[1].get("failing", [])] == ["blobs", "database"])
        looked = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; exec "$0" -m agentpost doctor', sys.executable],
            env=server._environment(),
            cwd=server.home,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (looked.returncode, b"Traceback" in looked.stderr) == (1, False)
    assert [send(caller, f"{n}").status_code for n in range(3)] == [201, 201, 201]
    assert [send(caller, f"{n}").status_code for n in range(3)] == [200, 200, 200]
    assert rows(server)["messages"] == before["messages"] + 3
    eventually(lambda: server.readiness() == (200, {"status": "ready"}), what="readiness")
    assert server.run("doctor")[0] == 0


# --- what runs ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "hindered", "entries"),
    [
        ("s", [["step_watched", "s.1", 1]], []),
        ("w", [["write_watched", "w.1", "text", 1]], ["progress"]),
        ("g", [["steps_at_once", "g.1", "g.2"]], []),
    ],
)
def test_a_job_whose_calls_cannot_be_recorded_goes_on_later(
    caller: Caller, server: AgentServer, name: str, hindered: Script, entries: list[str]
) -> None:
    before = caller.credits()
    script = [["step", f"{name}.0", 1], ["gate", name], *hindered, ["return", "ok"]]
    message = caller.send([["start", "Work", script]])
    server.await_gate(name)
    with server.files_up_to(0):
        server.open_gate(name)
        server.await_gate(f"{name}.1")
        assert caller.http.get(f"/v1/messages/{message['id']}").json()["status"] == "processing"
    done = caller.final(message["id"], SOON_SECONDS)

    assert (done["status"], done["reason"]) == ("completed", None)
    assert sorted(kinds(caller.log(message["id"]))) == ["agent_reply", *entries, "result"]
    steps = 1 if name == "g" else 2
    assert (done["credits_used"], caller.credits()) == (steps, before - steps)
    began = traces(server, name)
    assert began[f"{name}.0"] == 1, "what was recorded never runs again"
    assert all(step.count(".") == 1 for step in began), f"the author's handler saw it: {began}"


def test_a_turn_whose_calls_cannot_be_recorded_goes_on_later(
    caller: Caller, server: AgentServer
) -> None:
    script: Script = [["step", "t.0"], ["gate", "t"], ["step_watched", "t.1"], ["reply", "said"]]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(caller.send, script)
        server.await_gate("t")
        with server.files_up_to(0):
            server.open_gate("t")
            server.await_gate("t.1")
        message = call.result()
    done = caller.final(message["id"], SOON_SECONDS)
    assert (done["status"], done["reply"]) == ("completed", "said")
    assert traces(server, "t") == {"t.0": 1, "t.1": 2}
    assert kinds(caller.log(done["id"])) == ["agent_reply"]


@pytest.mark.parametrize(
    ("gate", "script", "epoch"),
    [
        (
            "end of a job",
            [["start", "Work", [["gate", "end of a job"], ["return", "ok"]]]],
            "SELECT epoch AS n FROM jobs WHERE message_id = '{}'",
        ),
        (
            "end of a turn",
            [["gate", "end of a turn"], ["reply", "made it"]],
            "SELECT turn_epoch AS n FROM messages WHERE id = '{}'",
        ),
    ],
)
def test_an_end_that_cannot_be_recorded_is_recorded_later(
    caller: Caller, server: AgentServer, gate: str, script: Script, epoch: str
) -> None:
    """It is written until it is written: the answer is there, and nobody makes another."""
    message = caller.send(script, wait=0)
    server.await_gate(gate)
    with server.files_up_to(0):
        server.open_gate(gate)
        for _ in range(20):  # the end waits in the same queue
            assert_plain_fault(caller.http.post("/v1/messages", json={"message": "hello"}))
        assert caller.http.get(f"/v1/messages/{message['id']}").json()["status"] == "processing"
    done = caller.final(message["id"], SOON_SECONDS)
    assert done["status"] == "completed"
    assert server.rows(epoch.format(message["id"])) == [{"n": 1}]
    assert server.command("doctor") == {"ok": True, "findings": [], "warnings": []}


# --- what waits for space -------------------------------------------------------------------------
@contextmanager
def under_the_floor(server: AgentServer) -> Iterator[None]:
    """No disk has the space that the setting asks for, which is read again."""
    settings = server.home / "agentpost.toml"
    for least in (10**15, 0):
        settings.write_text(f"free_space_min_bytes = {least}\n")
        server.send_signal(signal.SIGHUP)
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
    caller: Caller,
    without: Callable[[AgentServer], AbstractContextManager[None]],
    cause: str,
    ready: str,
) -> None:
    """Where the client looks, and where the operator does; without being run again and again."""
    gate = without.__name__
    logged = server.log_file.stat().st_size
    job = [["gate", gate], ["write", "a.txt", "worth waiting for"], ["return", "stored"]]
    message = caller.send([["start", "Write", job]])
    server.await_gate(gate)
    [row] = server.rows("SELECT id, epoch FROM jobs WHERE state = 'running'")

    def steps_shown() -> list[str]:
        return [each["step"] for each in caller.log(message["id"]) if each["type"] == "progress"]

    def found() -> list[str]:
        return [each["problem"] for each in server.findings() if each["id"] == row["id"]]

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
                "free_space_min_bytes" in str(server.readiness()[1].get(ready))
                or "Files cannot be stored" in str(server.readiness()[1].get(ready))
            ),
            what="a word at /readyz",
        )
        if without is under_the_floor:  # a doctor beside the server makes the folder that is away
            eventually(lambda: any("waits to store a file" in each for each in found()))
        assert any('"file_waits"' in line for line in server.log_lines(logged))
    began = time.monotonic()
    assert caller.final(message["id"])["status"] == "completed"
    assert time.monotonic() - began < PROMPT
    assert len([step for step in steps_shown() if "Waits" in step]) == 1
    assert server.rows(f"SELECT epoch FROM jobs WHERE id = '{row['id']}'") == [
        {"epoch": row["epoch"]}
    ]
    eventually(lambda: found() == [], what="nothing for the doctor to say")
    eventually(lambda: server.readiness() == (200, {"status": "ready"}), what="readiness")
