"""A disk that is full: said plainly, nothing half recorded, and over when there is room again.

A limit on the size of the server's files stands for the disk; it can be set and lifted from here.
"""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import announce, complete, post, problem
from tests.e2e.server import AgentServer
from tests.waiting import eventually

MIB = 2**20
LARGE = "YWFh" * (8 * MIB // 3)  # 8 MB
TABLES = ("messages", "attachments", "files", "conversations", "entries", "uploads")


@pytest.fixture
def server(start_server: ServerMaker) -> AgentServer:
    return start_server()


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
        caller.refused(409, "not_uploaded", "POST", f"/v1/uploads/{made['upload_id']}/complete")
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
