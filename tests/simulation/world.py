"""What is around the nodes of a simulation: database, network, disk, chance, and faults.

Everything that leaves a node passes `World.soon`, which takes a random time, waits while the node
is frozen, and is never heard of again when the node has died. So any order of commits, answers,
hints and attempts comes up that these can have.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from agentpost.clock import ManualClock
from agentpost.db.session import Tx
from agentpost.db.sqlite_group import SqliteTx
from agentpost.domain.times import SECOND
from agentpost.egress.client import PostResult
from tests.simulation.loop import SimulatedLoop
from tests.simulation.memory_storage import MemoryStorage

if TYPE_CHECKING:
    from tests.simulation.node import Node

T = TypeVar("T")
SECRET = "whsec_" + base64.b64encode(b"a secret of the simulation").decode()
LATENCIES = (0.0002, 0.001, 0.001, 0.005, 0.02, 0.1)
"""Seconds."""
STEP_SECONDS = (0.001, 0.1, 1.0, 3.0)
CHANCE = 0.02
"""Of each of the small faults, where a history has it at all."""


class Broken(Exception):
    """What was promised does not hold."""


@dataclass(slots=True)
class Odds:
    """How likely the small faults are: a commit fails, its answer is lost, a transaction is run
    twice, a hint between nodes is lost, a job is dispatched twice or not at all."""

    fails: float = 0
    answer_lost: float = 0
    run_twice: float = 0
    hint_lost: float = 0
    dispatch_lost: float = 0
    dispatch_doubled: float = 0

    @classmethod
    def drawn(cls, rng: Random) -> Odds:
        """Each of them or none, by chance."""
        return cls(*(rng.choice((0, 0, CHANCE, 5 * CHANCE)) for _ in range(6)))


@dataclass(slots=True)
class Received:
    """What a webhook receiver got for one event: bodies without signatures that were wrong."""

    bodies: list[bytes] = field(default_factory=list)
    accepted: int = 0


def empty_database(schema: bytes) -> sqlite3.Connection:
    """The database of every history that this process plays, without rows.

    All histories share one connection, because to parse its statements anew for each would take a
    fifth of the time.
    """
    connection, tables = _database(schema)
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    for table in tables:
        connection.execute(f"DELETE FROM {table}")
    return connection


@cache
def _database(schema: bytes) -> tuple[sqlite3.Connection, list[str]]:
    """A connection and the tables that have no rows in the schema."""
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=2_048)
    connection.deserialize(schema)
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA journal_mode=MEMORY")
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    empty = [
        name
        for (name,) in tables
        if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is None
    ]
    return connection, empty


class World:
    """One history's surroundings.

    Args:
        schema: the bytes of a SQLite database without rows.
        seed: decides everything that chance does here.
    """

    def __init__(self, schema: bytes, seed: int, *, tracing: bool = False) -> None:
        self.rng = Random(seed)
        self.clock = ManualClock()
        self.loop = SimulatedLoop(self.clock)
        self.storage = MemoryStorage()
        self.connection = empty_database(schema)
        self.odds = Odds.drawn(self.rng)
        self.nodes: list[Node] = []
        self.receiver = "up"
        self.received: dict[str, Received] = defaultdict(Received)
        self.effects: dict[str, int] = defaultdict(int)
        self.commits = 0
        self.broken: Broken | None = None
        self.at_rest = False
        """Nothing goes wrong and nothing takes time any more."""
        self.trace: list[str] | None = [] if tracing else None
        self._began = self.clock.passed()

    # --- telling ----------------------------------------------------------------------------------
    def tell(self, who: str, what: str) -> None:
        if self.trace is not None:
            at = (self.clock.passed() - self._began) / SECOND
            self.trace.append(f"{at:10.4f}  {who:8} {what}")

    def breaks(self, what: str) -> None:
        """Remember the first thing that does not hold; the history ends there."""
        if self.broken is None:
            self.tell("BROKEN", what)
            self.broken = Broken(what)

    def alive(self) -> list[Node]:
        """The nodes that have started and not died, in the order they came."""
        return [node for node in self.nodes if node.ready and not node.dead]

    # --- what leaves a node -----------------------------------------------------------------------
    def soon(self, node: Node, then: Callable[[], object], seconds: float | None = None) -> None:
        """Do it in a while, unless the node has died by then."""
        wait = self.rng.choice(LATENCIES) if seconds is None else seconds

        def act() -> None:
            if node.dead or self.broken is not None:
                return
            frozen = node.frozen_until - self.loop.time()
            if frozen > 0:
                self.loop.call_later(frozen + self.rng.choice(LATENCIES), act)
            else:
                then()

        self.loop.call_later(wait, act)

    async def io(self, node: Node, seconds: float | None = None) -> None:
        """Wait for something outside."""
        if self.at_rest and not node.dead and seconds is None:
            return
        answered: asyncio.Future[None] = self.loop.create_future()
        self.soon(node, lambda: _resolve(answered, None), seconds)
        await answered

    # --- the database -----------------------------------------------------------------------------
    def write(self, node: Node, fn: Callable[[Tx], T]) -> asyncio.Future[T]:
        """See `Database.write`: it happens whether its caller waits or not."""
        answer: asyncio.Future[T] = self.loop.create_future()
        if self.at_rest and not node.dead:
            self._write(node, fn, answer)
        else:
            self.soon(node, lambda: self._write(node, fn, answer))
        return answer

    def _write(self, node: Node, fn: Callable[[Tx], T], answer: asyncio.Future[T]) -> None:
        roll, odds = self.rng.random(), self.odds
        tx = SqliteTx(self.connection)
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = fn(tx)
            if roll < odds.run_twice:  # a deadlock, or a group that was taken back
                self.connection.execute("ROLLBACK")
                self.connection.execute("BEGIN IMMEDIATE")
                tx = SqliteTx(self.connection)
                result = fn(tx)
        except Exception as error:
            self.connection.execute("ROLLBACK")
            failed = error
            self._answer(node, lambda: _fail(answer, failed))
            return
        name = getattr(fn, "__qualname__", str(fn)) if self.trace is not None else ""
        crash = node.crash_due()
        fails = node.failure_due() or roll > 1 - odds.fails
        if crash == "before" or fails:
            self.connection.execute("ROLLBACK")
            if crash == "before":
                self.tell(node.id, f"{name}: died before the commit")
                node.die()
            else:
                self.tell(node.id, f"{name}: the commit failed")
                self.soon(node, lambda: _fail(answer, sqlite3.OperationalError("disk I/O error")))
            return
        self.connection.execute("COMMIT")
        self.commits += 1
        if crash == "after":
            self.tell(node.id, f"{name}: died after the commit")
            node.die()
        elif 0.5 < roll < 0.5 + odds.answer_lost:
            self.tell(node.id, f"{name}: the answer of the commit was lost")
            self.soon(node, lambda: _fail(answer, sqlite3.OperationalError("connection lost")))
        else:
            self.tell(node.id, name)
            for callback in tx.callbacks:
                callback()
            self._answer(node, lambda: _resolve(answer, result))

    def _answer(self, node: Node, then: Callable[[], None]) -> None:
        if self.at_rest:
            then()
        else:
            self.soon(node, then)

    async def read(self, node: Node, fn: Callable[[Tx], T]) -> T:
        await self.io(node)
        result = self.read_now(fn)
        await self.io(node)
        return result

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        return fn(SqliteTx(self.connection))

    def write_now(self, fn: Callable[[Tx], T]) -> T:
        """A transaction that meets no fault."""
        self.connection.execute("BEGIN IMMEDIATE")
        result = fn(SqliteTx(self.connection))
        self.connection.execute("COMMIT")
        return result

    # --- between nodes ----------------------------------------------------------------------------
    def hint(self, sender: Node, subjects: tuple[str, ...]) -> None:
        """Tell every node; what others hear comes late, in any order, or not at all."""
        sender.hub.hint(*subjects)
        for node in self.alive():
            if node is not sender and self.rng.random() >= self.odds.hint_lost:
                self.soon(node, lambda node=node: node.hub.hint(*subjects))  # type: ignore[misc]

    def dispatch(self, job_id: str) -> None:
        """Hand a job to one of the nodes, to two, or to none."""
        roll, nodes = self.rng.random(), self.alive()
        times = 0 if roll < self.odds.dispatch_lost else 1 + (roll > 1 - self.odds.dispatch_doubled)
        for _ in range(times if nodes else 0):
            node = self.rng.choice(nodes)
            self.soon(node, lambda node=node: node.jobs.run(job_id, None))  # type: ignore[misc]

    def abort(self, job_id: str) -> None:
        """Tell every node to stop a job."""
        for node in self.alive():
            self.soon(node, lambda node=node: node.jobs.abort(job_id))  # type: ignore[misc]

    # --- outside ----------------------------------------------------------------------------------
    async def effect(self, node: Node, key: str) -> None:
        """The body of a step does something that cannot be taken back."""
        owner, _, number = key.rpartition(":")
        sql = "SELECT 1 FROM calls WHERE owner = ? AND n = ? AND state = 'done'"
        if not node.dead and self.connection.execute(sql, (owner, int(number))).fetchone():
            self.breaks(f"{key} runs again on {node.id} though it is recorded")
        self.effects[key] += 1
        self.tell(node.id, f"step {key}")
        await self.io(node, self.rng.choice(STEP_SECONDS))

    async def post(self, node: Node, body: bytes, headers: dict[str, str]) -> PostResult:
        """A webhook receiver: up, down, slow, or answering late."""
        await self.io(node)
        given = {name.lower(): value for name, value in headers.items()}
        event_id, at = given["webhook-id"], given["webhook-timestamp"]
        signed = hmac.new(
            base64.b64decode(SECRET.removeprefix("whsec_")),
            f"{event_id}.{at}.".encode() + body,
            hashlib.sha256,
        )
        if f"v1,{base64.b64encode(signed.digest()).decode()}" not in given["webhook-signature"]:
            self.breaks(f"{event_id} is not signed as it must be")
        mode = self.receiver
        self.tell(node.id, f"webhook {event_id} to a receiver that is {mode}")
        if mode == "down":
            return PostResult(None, 1, "", "it could not be reached")
        self.received[event_id].bodies.append(body)
        if mode == "slow":
            await self.io(node, 11.0)
            return PostResult(None, 10_000, "", "no answer in time")
        await self.io(node)
        if mode == "failing":
            return PostResult(503, 1, "", None)
        self.received[event_id].accepted += 1
        return PostResult(200, 1, "", None)

    def rows(self, sql: str, *params: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, params).fetchall()

    def count(self, sql: str) -> int:
        return int(self.rows(sql)[0][0])


def _resolve(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def event_of(body: bytes) -> dict[str, Any]:
    """A webhook's body, read."""
    read: dict[str, Any] = json.loads(body)
    return read
