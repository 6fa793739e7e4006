"""A node is dead when it is silent for three seconds of another's own watching (design:
Ownership).
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeVar

import psycopg
import pytest

from agentpost.clock import SystemClock
from agentpost.db.postgres import PostgresDatabase, PostgresDedicatedConnection
from agentpost.db.session import Tx
from agentpost.nodes import heartbeat
from agentpost.nodes.heartbeat import Heartbeat
from agentpost.nodes.lease import Lease
from tests.servers import Postgres
from tests.waiting import PATIENCE, eventually

T = TypeVar("T")
HeartMaker = Callable[[str], Heartbeat]


@pytest.fixture
def url(postgres: Postgres, fresh_postgres: Callable[[str], str]) -> str:
    return fresh_postgres(postgres.schema())


@pytest.fixture
def hearts(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeartMaker]:
    """`hearts(node)` starts a node's heart, which beats ten times as fast as usual.

    Dead is who misses fifteen beats: on a busy machine one may take as long as several others.
    """
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(heartbeat, "DEAD_SECONDS", 1.5)
    with ExitStack() as ends:

        def start(node: str) -> Heartbeat:
            heart = Heartbeat(PostgresDedicatedConnection(url), node, SystemClock(), Lease())
            heart.start()
            ends.callback(heart.stop)
            return heart

        yield start


def beats(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT id, beat FROM nodes").fetchall())


def until_beats(url: str, node: str, more: int) -> None:
    goal = beats(url)[node] + more
    eventually(lambda: beats(url)[node] >= goal)


class Refusing(PostgresDedicatedConnection):
    """A connection that cannot be opened the first few times."""

    def __init__(self, url: str, refusals: int) -> None:
        super().__init__(url)
        self.refusals = refusals

    def write(self, fn: Callable[[Tx], T]) -> T:
        if self.refusals:
            self.refusals -= 1
            raise psycopg.errors.ConnectionTimeout("connection timeout expired")
        return super().write(fn)


def test_the_first_beat_is_tried_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    heart = Heartbeat(Refusing(url, 4), "node_late", SystemClock(), Lease())
    heart.start()
    heart.stop()
    assert "node_late" in beats(url)
    never = Heartbeat(Refusing(url, 5), "node_never", SystemClock(), Lease())
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        never.start()
    assert "node_never" not in beats(url)


async def test_a_busy_pool_does_not_silence_a_node(url: str, hearts: HeartMaker) -> None:
    hearts("node_a")
    watching = hearts("node_b")
    db = PostgresDatabase(url, connections=2)
    db.open()
    release = threading.Event()

    def hold(tx: Tx) -> None:
        tx.one("SELECT 1")
        release.wait(PATIENCE)

    holding = [asyncio.create_task(db.write(hold)) for _ in range(4)]
    await asyncio.to_thread(until_beats, url, "node_a", 20)
    assert watching.dead() == {}
    release.set()
    await asyncio.gather(*holding)
    await asyncio.to_thread(db.close)


def test_who_stops_beating_is_dead(url: str, hearts: HeartMaker) -> None:
    silent, watching = hearts("node_a"), hearts("node_b")
    until_beats(url, "node_a", 3)
    silent.stop()
    last = beats(url)["node_a"]
    assert eventually(watching.dead) == {"node_a": last}


def test_a_node_knows_what_the_others_do(url: str, hearts: HeartMaker) -> None:
    """A node that has not said its role may answer callers, and gets no jobs."""
    watching = hearts("node_a")
    assert not watching.readers_elsewhere(), "it is alone"
    other = hearts("node_b")
    eventually(watching.readers_elsewhere)
    assert watching.workers_elsewhere() == []

    def becomes(change: str, *, reads: bool, works: bool) -> None:
        with psycopg.connect(url) as connection:
            connection.execute(f"UPDATE nodes SET {change} WHERE id = 'node_b'".encode())
        expected = (reads, ["node_b"] if works else [])
        eventually(lambda: (watching.readers_elsewhere(), watching.workers_elsewhere()) == expected)

    becomes("role = 'worker'", reads=False, works=True)
    becomes("role = 'api'", reads=True, works=False)
    becomes("role = 'all'", reads=True, works=True)
    becomes("draining_at = 1", reads=True, works=False)
    becomes("draining_at = NULL", reads=True, works=True)
    other.stop()
    eventually(lambda: not watching.readers_elsewhere() and not watching.workers_elsewhere())


def test_a_session_that_breaks_begins_to_watch_again(url: str, hearts: HeartMaker) -> None:
    hearts("node_a")
    watching = hearts("node_b")
    until_beats(url, "node_b", 3)
    deaths: list[dict[str, int]] = []
    for _ in range(5):
        with psycopg.connect(url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'agentpost beat'"
            )
        until_beats(url, "node_b", 2)
        deaths.append(watching.dead())
    assert deaths == [{}] * 5
    until_beats(url, "node_a", 3)


def test_while_nobody_can_look_nobody_is_dead(url: str, hearts: HeartMaker) -> None:
    """The database refuses everybody for longer than it takes to be dead."""
    first, second = hearts("node_a"), hearts("node_b")
    until_beats(url, "node_b", 3)
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE")
        threading.Event().wait(2)  # twenty beats long
        assert (first.dead(), second.dead()) == ({}, {})
    for _ in range(3):
        until_beats(url, "node_a", 1)
        until_beats(url, "node_b", 1)
        assert (first.dead(), second.dead()) == ({}, {})
