"""PostgreSQL that changes under a running server: a primary turns read-only, another takes over.

Nobody ends the sessions that are open. The address stays the same, as that of a proxy does, or the
server knows both.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.gateway import Gateway
from tests.servers import Postgres
from tests.waiting import PROMPT, eventually

OF_SERVER = "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'agentpost%'"
IMPATIENT = {
    "agentpost.db.postgres._WAIT_SECONDS": 1.0,
    "agentpost.tasks.background._CHECK_SECONDS": 0.2,
}


@pytest.fixture
def pair() -> Iterator[tuple[Postgres, Postgres]]:
    """A primary and its hot standby."""
    home = Path(tempfile.mkdtemp(prefix="agentpost-pair-"))
    home.chmod(0o711)
    primary, standby = Postgres(home / "a"), Postgres(home / "b")
    try:
        primary.start()
        standby.follow(primary)
        standby.start()
        yield primary, standby
    finally:
        standby.stop()
        primary.stop()
        shutil.rmtree(home)


def run(server: Postgres, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        done = connection.execute(sql.encode())
        return done.fetchall() if done.description else []


def socket_of(server: Postgres) -> Path:
    return server.home / "socket" / ".s.PGSQL.5432"


def sessions_at(server: Postgres) -> set[object]:
    return {name for (name,) in run(server, OF_SERVER)}


@pytest.mark.parametrize("reached", ["by one address", "by both"])
def test_a_primary_turns_read_only_and_its_standby_takes_over(
    pair: tuple[Postgres, Postgres],
    start_server: ServerMaker,
    callers: Callable[..., Caller],
    reached: str,
) -> None:
    primary, standby = pair
    gateway = Gateway(socket_of(primary))
    hosts = f"127.0.0.1:{gateway.port}"
    if reached == "by both":
        hosts = f"127.0.0.1:{Gateway(socket_of(standby)).port},{hosts}"
    url = f"postgresql://postgres@{hosts}/postgres?sslmode=disable"
    server = start_server(database_url=url, constants=IMPATIENT)
    caller = callers(server)
    job = caller.send([["start", "Work", [["gate", "g"], ["return", "ok"]]]])
    accepted = {job["id"]}

    def send() -> httpx2.Response:
        answer = caller.http.post("/v1/messages", json={"message": "hi"})
        assert answer.status_code in {201, 503}, answer.text
        if answer.status_code == 201:
            accepted.add(answer.json()["id"])
        else:
            body = answer.json()
            assert body["error"] == "unavailable"
            assert body["request_id"] == answer.headers["Request-Id"]
            assert int(answer.headers["Retry-After"]) >= 1
        return answer

    def readiness() -> tuple[int, list[str]]:
        answer = httpx2.get(f"{server.url}/readyz")
        return answer.status_code, answer.json().get("failing", [])

    run(primary, "ALTER SYSTEM SET default_transaction_read_only = on")
    run(primary, "SELECT pg_reload_conf()")
    eventually(lambda: send().status_code == 503, PROMPT, "a refusal")
    eventually(lambda: readiness()[0] == 503, PROMPT)
    assert "database" in readiness()[1]

    caught_up = "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication"
    eventually(lambda: run(primary, caught_up) == [(True,)], what="the standby")
    if reached == "by one address":
        gateway.lead_to(socket_of(standby))
    run(standby, "SELECT pg_promote()")
    eventually(lambda: send().status_code == 201, PROMPT, "a message that is taken")
    eventually(lambda: readiness() == (200, []), PROMPT, "readiness")
    server.open_gate("g")
    assert caller.final(job["id"])["status"] == "completed"
    assert {caller.get(message_id)["id"] for message_id in accepted} == accepted
    eventually(lambda: not sessions_at(primary), PROMPT, "the last session at the old primary")
    needed = {"agentpost", "agentpost beat", "agentpost notices"}
    eventually(lambda: needed <= sessions_at(standby), PROMPT, "sessions at the new primary")
    server.stop()
