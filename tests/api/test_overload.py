"""More messages than can be stored: refused at once, and not those of everybody (design: More than
can be served)."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager

import httpx2
import psycopg
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.raw import head, raw
from tests.e2e.server import AgentServer
from tests.waiting import eventually

MOST = 4
OF_ACCOUNT = 3


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(messages_arriving_max=MOST)


@contextmanager
def nothing_is_stored(server: AgentServer) -> Iterator[None]:
    """No message can be committed inside."""
    if server.database_url is None:
        with closing(sqlite3.connect(server.home / "data" / "agentpost.db")) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
            database.rollback()
    else:
        with psycopg.connect(server.database_url) as connection:
            connection.execute("LOCK TABLE messages IN EXCLUSIVE MODE")
            yield
            connection.rollback()


def test_messages_over_the_bound_are_refused_at_once(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    flooding, other = callers(server), callers(server, server.new_key("other"))
    assert [each.post("before").status_code for each in (flooding, other)] == [201, 201]
    with ThreadPoolExecutor(16) as threads:

        def post(caller: Caller) -> "Future[httpx2.Response]":
            body = {"message": "hello"}
            return threads.submit(caller.http.post, "/v1/messages", json=body)

        def answered(calls: "list[Future[httpx2.Response]]") -> list[httpx2.Response]:
            return [call.result() for call in calls if call.done()]

        with nothing_is_stored(server):
            flood = [post(flooding) for _ in range(OF_ACCOUNT + 3)]
            eventually(lambda: len(answered(flood)) == 3, what="refusals of the flooding account")
            later = [post(other) for _ in range(MOST - OF_ACCOUNT + 2)]
            eventually(lambda: len(answered(later)) == 2, what="refusals of whoever comes later")
            refused = answered(flood) + answered(later)
            assert flooding.call("GET", "/v1/me").status_code == 200, "reads are answered"
            turned_away = raw(server, head("GET", "/v1/me"))
            assert raw(server, head("GET", "/readyz")).status == 200
        codes = sorted(call.result().status_code for call in (*flood, *later))
    assert codes == [201] * MOST + [503] * len(refused)
    for answer in refused:
        assert answer.json()["error"] == "unavailable"
        assert 1 <= int(answer.headers["Retry-After"]) <= 3
    assert turned_away.status == 503, "while nothing fits, new connections are turned away"
    assert flooding.post("after").status_code == 201
    log = server.log_file.read_text()
    assert log.count('"messages_refused"') == 1, "one line a minute"
