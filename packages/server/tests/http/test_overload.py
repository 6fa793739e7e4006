"""More messages than can be stored: refused at once, and not those of everybody (design: More than
can be served)."""

import select
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import psycopg

from tests.e2e.raw import RawAnswer, answer_on, connect, head, raw
from tests.e2e.server import KEY, AgentServer
from tests.waiting import eventually

MOST = 4
OF_ACCOUNT = 3
BODY = b'{"message": "hello"}'
SETTINGS = {"messages_arriving_max": MOST}


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


def post(key: str) -> bytes:
    return head("POST", "/v1/messages", f"Content-Length: {len(BODY)}", key=key) + BODY


def refusals(server: AgentServer, lines: list[socket.socket], many: int) -> list[RawAnswer]:
    """The answers on so many of the lines; those are taken out of the list."""

    def answered() -> list[socket.socket]:
        return select.select(lines, [], [], 0)[0]

    eventually(lambda: len(answered()) == many, what=f"{many} refusals")
    found = answered()
    lines[:] = [line for line in lines if line not in found]
    return [answer_on(line) for line in found]


def test_messages_over_the_bound_are_refused_at_once(server: AgentServer) -> None:
    other = server.new_key("other")
    with ExitStack() as open_:

        def opened(key: str) -> socket.socket:
            line = open_.enter_context(connect(server))
            line.sendall(head("GET", "/v1/me", key=key))
            assert answer_on(line).status == 200
            return line

        flood = [opened(KEY) for _ in range(OF_ACCOUNT + 2)]
        reading, later = opened(KEY), [opened(other) for _ in range(2)]
        with nothing_is_stored(server):
            for line in flood:
                line.sendall(post(KEY))
            of_account = refusals(server, flood, 2)
            at_the_door = raw(server, post(KEY))
            assert raw(server, head("GET", "/v1/me")).status == 200, "only messages are refused"
            new = open_.enter_context(connect(server))
            new.sendall(post(other))  # the only one that fits
            eventually(lambda: raw(server, head("GET", "/v1/me")).status == 503, what="a full one")
            for line in later:
                line.sendall(post(other))
            of_all = refusals(server, later, 2)
            reading.sendall(head("GET", "/v1/me"))
            assert answer_on(reading).status == 200, "reads on open connections are answered"
            assert raw(server, head("GET", "/readyz")).status == 200
        assert [answer_on(line).status for line in (*flood, new)] == [201] * MOST
    assert raw(server, post(KEY)).status == 201
    for answer in (at_the_door, *of_account, *of_all):
        assert (answer.status, answer.body["error"]) == (503, "unavailable")
        assert 1 <= int(answer.headers["retry-after"]) <= 3
    log = server.log_file.read_text()
    assert log.count('"messages_refused"') == 1, "one line a minute"
