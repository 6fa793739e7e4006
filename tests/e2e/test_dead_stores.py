"""Stores that stop working under a running server: nothing is answered as stored that is not, and
`/readyz`, the log and the doctor say which one fails, and that it is back."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.chaos.stores import Redis
from tests.conformance.conftest import s3_endpoint, s3_url
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.gateway import Gateway
from tests.servers import Postgres
from tests.waiting import eventually

__all__ = ["s3_endpoint", "s3_url"]

NOTICED_SECONDS = 30.0
"""A check may take five seconds to give up, on a machine that is busy."""
Callers = Callable[..., Caller]
SOON = {
    "agentpost.tasks.background._CHECK_SECONDS": 0.2,
    "agentpost.tasks.background._CHECK_REMOTE_SECONDS": 0.2,
}
"""How often the server looks after its stores."""
IMPATIENT = {**SOON, "agentpost.operations.health.ANSWER_SECONDS": 1.0}
"""Besides, a store that says nothing is given up sooner."""
SETTINGS = {"constants": {**SOON, "agentpost.db.sqlite_group.BUSY_SECONDS": 1.0}}


@pytest.fixture
def own_server(start_server: ServerMaker) -> Iterator[ServerMaker]:
    """Servers that look often; each ends with its test, or it would go on looking."""
    started: list[AgentServer] = []

    def start(**settings: object) -> AgentServer:
        started.append(start_server(**{"constants": SOON, **settings}))
        return started[-1]

    yield start
    for server in started:
        if server.process is not None:
            server.kill()


def await_failing(server: AgentServer, *names: str) -> None:
    """Until the server says that these parts fail, and no other."""

    def found() -> bool:
        status, body = server.readiness()
        return status == 503 and body["status"] == "failing" and list(body["failing"]) == [*names]

    eventually(found, NOTICED_SECONDS, f"failing: {names}")


def await_ready(server: AgentServer) -> None:
    ready = (200, {"status": "ready"})
    eventually(lambda: server.readiness() == ready, NOTICED_SECONDS, "readiness")


def lines(server: AgentServer, event: str, after: int = 0) -> list[str]:
    return [line for line in server.log_lines(after) if f'"{event}"' in line]


def send(caller: Caller, **body: object) -> httpx2.Response:
    return caller.http.post("/v1/messages", json={"message": "hi", **body}, timeout=60)


def test_a_data_folder_that_goes_and_comes_back(server: AgentServer, caller: Caller) -> None:
    logged = server.log_file.stat().st_size
    kept = send(caller).json()["id"]
    data = server.home / "data"
    data.rename(server.home / "away")
    for _ in range(5):
        answer = send(caller)
        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        assert int(answer.headers["Retry-After"]) >= 1
        assert str(server.home) not in answer.text
    await_failing(server, "blobs", "database")
    code, said = server.run("doctor")
    assert code == 1
    assert "there is no database" in said
    assert not data.exists(), "looking makes no new one"
    (server.home / "away").rename(data)
    await_ready(server)
    assert send(caller).status_code == 201
    assert caller.get(kept)["id"] == kept
    eventually(lambda: len(lines(server, "store_recovered", logged)) >= 2, what="a line for each")
    for event, level in (("store_failing", "error"), ("store_recovered", "info")):
        found = lines(server, event, logged)
        assert len(found) == 2, "said once for each"
        assert all(f'"level": "{level}"' in line for line in found)


@pytest.mark.parametrize("what", ["gone", "a file", "another folder"])
def test_a_folder_of_files_that_is_not_there(
    server: AgentServer, caller: Caller, what: str
) -> None:
    blobs = server.home / "data" / "blobs"
    blobs.rename(server.home / "away")
    if what == "a file":
        blobs.write_text("not a folder")
    elif what == "another folder":
        (blobs / "tmp").mkdir(parents=True)
    await_failing(server, "blobs")
    assert send(caller).status_code == 201, "messages need no files"
    code, said = server.run("doctor")
    assert code == 1
    assert "blobs" in said
    if what != "gone":
        blobs.unlink() if blobs.is_file() else shutil.rmtree(blobs)
    elif blobs.exists():
        shutil.rmtree(blobs)
    (server.home / "away").rename(blobs)
    await_ready(server)


@pytest.fixture
def bucket(s3_endpoint: str, s3_url: str) -> tuple[Gateway, str]:
    gateway = Gateway(s3_endpoint)
    return gateway, s3_url.replace(s3_endpoint, f"http://127.0.0.1:{gateway.port}")


def test_a_bucket_that_does_not_answer(
    own_server: ServerMaker, callers: Callers, bucket: tuple[Gateway, str]
) -> None:
    gateway, url = bucket
    server = own_server(storage_url=url, constants=IMPATIENT)
    caller = callers(server)
    file = [{"name": "a.txt", "base64": "YWFh"}]
    assert send(caller, files=file).status_code == 201
    gateway.silence()
    await_failing(server, "blobs")
    assert send(caller).status_code == 201, "messages without files go on"
    code, said = server.run("doctor")
    assert code == 1
    assert "blobs" in said
    gateway.speak()
    await_ready(server)
    assert send(caller, files=file).status_code == 201


def test_postgresql_that_was_stopped(
    own_server: ServerMaker, callers: Callers, tmp_path: Path
) -> None:
    own = Postgres(Path(os.environ.get("TMPDIR", "/tmp")) / f"agentpost-own-{os.getpid()}")
    own.start()
    try:
        server = own_server(database_url=own.url(), constants=IMPATIENT)
        caller = callers(server)
        assert send(caller).status_code == 201
        own.stop()

        def failing() -> bool:
            status, body = server.readiness()
            return status == 503 and "database" in body["failing"]

        eventually(failing, NOTICED_SECONDS, "a database that fails")
        code, said = server.run("doctor")
        assert code == 1
        assert "AGENTPOST_DATABASE_URL" in said
        own.start()
        await_ready(server)
        eventually(lambda: send(caller).status_code == 201, NOTICED_SECONDS)
        eventually(lambda: lines(server, "database_reachable"), NOTICED_SECONDS)
        assert lines(server, "database_unreachable")
        assert not [line for line in server.log_lines() if '"psycopg.pool"' in line]
        server.stop()
    finally:
        own.stop()
        shutil.rmtree(own.home, ignore_errors=True)


def test_another_program_that_locks_the_database(server: AgentServer, caller: Caller) -> None:
    """As a rule a message waits half a minute for it."""
    with server.no_writes("messages"):
        answer = send(caller)
        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        await_failing(server, "database")
    await_ready(server)
    assert send(caller).status_code == 201


def test_redis_that_is_gone_is_reported_and_needs_nobody(
    own_server: ServerMaker,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}"
    server = own_server(redis_url=url)
    wanted = (200, {"status": "ready", "degraded": ["redis"]})
    eventually(lambda: server.readiness() == wanted, NOTICED_SECONDS, "a word about Redis")


def test_redis_that_becomes_a_replica_is_left_for_the_new_one_at_its_address(
    own_server: ServerMaker, callers: Callers, tmp_path: Path
) -> None:
    """Nobody ends the connections that are open, as a proxy before both would not."""
    old, new = (Redis(tmp_path / name) for name in ("old", "new"))
    try:
        gateway = Gateway(f"http://127.0.0.1:{old.port}")
        server = own_server(redis_url=f"redis://127.0.0.1:{gateway.port}/0")
        caller = callers(server)
        await_ready(server)
        assert send(caller).status_code == 201
        old.say(f"REPLICAOF 127.0.0.1 {new.port}")
        degraded = (200, {"status": "ready", "degraded": ["redis"]})
        eventually(lambda: server.readiness() == degraded, NOTICED_SECONDS, "a word about Redis")
        assert send(caller).status_code == 201, "each node counts for itself"
        gateway.lead_to(f"http://127.0.0.1:{new.port}")
        await_ready(server)

        def is_counted() -> bool:
            new.flush()
            assert send(caller).status_code == 201
            return new.say("DBSIZE") != b":0"

        eventually(is_counted, NOTICED_SECONDS, "a count in the new Redis")
    finally:
        for each in (old, new):
            each.stop()
