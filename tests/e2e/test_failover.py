"""PostgreSQL that changes under a running server: a primary turns read-only, another takes over.

Nobody ends the sessions that are open. The address stays the same, as that of a proxy does, or the
server knows both.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.gateway import Gateway
from tests.servers import Postgres
from tests.waiting import PROMPT, eventually

NAMES = ("by_one", "by_both")
OF_SERVERS = (
    "SELECT datname, application_name FROM pg_stat_activity"
    " WHERE application_name LIKE 'agentpost%'"
)
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


def sessions_at(server: Postgres) -> set[tuple[object, ...]]:
    """The databases and names of the sessions that our servers have there."""
    return set(run(server, OF_SERVERS))


class Reached:
    """A server on a database of the pair, with a job under way and all that it has accepted."""

    def __init__(self, server: AgentServer) -> None:
        self.server = server
        self.caller = Caller(server)
        job = self.caller.send([["start", "Work", [["gate", "g"], ["return", "ok"]]]])
        self.job_id: str = job["id"]
        self._accepted = {self.job_id}

    def send(self) -> int:
        """The status of a message that is taken or refused as unavailable."""
        answer = self.caller.http.post("/v1/messages", json={"message": "hi"})
        assert answer.status_code in {201, 503}, answer.text
        body = answer.json()
        if answer.status_code == 201:
            self._accepted.add(body["id"])
        else:
            assert body["error"] == "unavailable"
            assert body["request_id"] == answer.headers["Request-Id"]
            assert int(answer.headers["Retry-After"]) >= 1
        return answer.status_code

    def readiness(self) -> tuple[int, list[str]]:
        answer = httpx2.get(f"{self.server.url}/readyz")
        return answer.status_code, answer.json().get("failing", [])

    def await_refusal(self) -> None:
        eventually(lambda: self.send() == 503, PROMPT, "a refusal")
        eventually(lambda: self.readiness()[0] == 503, PROMPT)
        assert "database" in self.readiness()[1]

    def await_recovery(self) -> None:
        """It takes messages again, and nothing that it accepted is lost."""
        eventually(lambda: self.send() == 201, PROMPT, "a message that is taken")
        eventually(lambda: self.readiness() == (200, []), PROMPT, "readiness")
        self.server.open_gate("g")
        assert self.caller.final(self.job_id)["status"] == "completed"
        found = {self.caller.get(message_id)["id"] for message_id in self._accepted}
        assert found == self._accepted


def test_a_primary_turns_read_only_and_its_standby_takes_over(
    pair: tuple[Postgres, Postgres], start_server: ServerMaker
) -> None:
    """One server has one address, which leads to the new primary then; the other knows both."""
    primary, standby = pair
    gateway = Gateway(socket_of(primary))
    one = f"127.0.0.1:{gateway.port}"
    both = ",".join(f"127.0.0.1:{Gateway(socket_of(each)).port}" for each in (standby, primary))
    servers = []
    for name, hosts in zip(NAMES, (one, both), strict=True):
        run(primary, f"CREATE DATABASE {name}")
        url = f"postgresql://postgres@{hosts}/{name}?sslmode=disable"
        servers.append(Reached(start_server(database_url=url, constants=IMPATIENT)))

    run(primary, "ALTER SYSTEM SET default_transaction_read_only = on")
    run(primary, "SELECT pg_reload_conf()")
    for each in servers:
        each.await_refusal()
    caught_up = "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication"
    eventually(lambda: run(primary, caught_up) == [(True,)], what="the standby")
    gateway.lead_to(socket_of(standby))
    run(standby, "SELECT pg_promote()")
    for each in servers:
        each.await_recovery()
    eventually(lambda: not sessions_at(primary), PROMPT, "the last session at the old primary")
    wanted = {(name, f"agentpost{of}") for name in NAMES for of in ("", " beat", " notices")}
    eventually(lambda: wanted <= sessions_at(standby), PROMPT, "sessions at the new primary")
    for each in servers:
        each.server.stop()
