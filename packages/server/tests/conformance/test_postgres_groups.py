"""PostgreSQL: what stands against a group of writes costs its functions nothing but another run."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from agentpost.db import postgres_group
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Tx
from tests.conformance.adapters import Scaled
from tests.waiting import PATIENCE, eventually

INSERT = "INSERT INTO meta (name, value) VALUES (?, ?)"
NAMES = "SELECT name FROM meta ORDER BY name"
LOCK = "SELECT value FROM meta WHERE name = ? /*for update*/"
XID = "SELECT CAST(pg_current_xact_id() AS TEXT)"


class Refused(Exception):
    """What a function raises on purpose."""


@pytest.fixture
def db(postgres_db: PostgresDatabase) -> PostgresDatabase:
    return postgres_db


def put(name: str) -> Callable[[Tx], str]:
    """Writes a row; which transaction that was."""

    def fn(tx: Tx) -> str:
        tx.execute_nowait(INSERT, (name, ""))
        row = tx.one(XID)
        assert row is not None
        return str(row[0])

    return fn


async def together(db: PostgresDatabase, *functions: Callable[[Tx], Any]) -> list[Any]:
    """Commit them in one group: all wait while the writer is held up by the first."""
    running, release = threading.Event(), threading.Event()

    def hold(tx: Tx) -> str:
        running.set()
        assert release.wait(PATIENCE)
        return str((tx.one(XID) or ("",))[0])

    with pytest.MonkeyPatch.context() as time:
        time.setattr(postgres_group, "_SECONDS_MAX", 0.0)  # the first is a group for itself
        first = asyncio.create_task(db.write(hold))
        assert await asyncio.to_thread(running.wait, PATIENCE)
        time.setattr(postgres_group, "_SECONDS_MAX", PATIENCE)  # the next one takes all of these
        rest = [asyncio.create_task(db.write(fn)) for fn in functions]
        await asyncio.sleep(0)
        release.set()
        await first
        return await asyncio.gather(*rest, return_exceptions=True)


async def names(db: PostgresDatabase) -> list[str]:
    return [row[0] for row in await db.read(lambda tx: tx.all(NAMES))]


async def test_what_waits_is_committed_together(db: PostgresDatabase) -> None:
    found = await together(db, put("a"), put("b"), put("c"))
    assert len(set(found)) == 1
    assert await names(db) == ["a", "b", "c"]


async def test_a_function_that_only_read_fails_alone(db: PostgresDatabase) -> None:
    runs: list[int] = []

    def fail(tx: Tx) -> None:
        runs.append(1)
        tx.one("SELECT 1")
        raise Refused

    first, refused, last = await together(db, put("a"), fail, put("b"))
    assert isinstance(refused, Refused)
    assert first == last
    assert runs == [1]


@pytest.mark.parametrize("how", ["raises", "returns", "changes nothing", "breaks a key"])
async def test_a_function_that_wrote_fails_alone_and_leaves_nothing(
    db: PostgresDatabase, how: str
) -> None:
    def fail(tx: Tx) -> None:
        if how == "returns":
            assert tx.one(f"{INSERT} RETURNING name", ("bad", "")) == ("bad",)
            raise Refused
        tx.execute_nowait(INSERT, ("bad", ""))
        if how == "raises":
            raise Refused
        if how == "changes nothing":
            tx.update_exactly_one(
                "UPDATE meta SET value = ? WHERE name = ?", ("", "none"), Refused()
            )
        else:
            tx.execute_nowait(INSERT, ("bad", ""))

    found = await together(db, put("a"), fail, put("b"))
    assert isinstance(found[1], Refused if "key" not in how else psycopg.errors.UniqueViolation)
    assert await names(db) == ["a", "b"]
    alone = await asyncio.gather(db.write(fail), return_exceptions=True)
    assert type(alone[0]) is type(found[1])
    assert await names(db) == ["a", "b"]


async def test_a_connection_that_breaks_in_a_group_loses_nothing(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    cuts: list[int] = []

    def cut(tx: Tx) -> None:
        put("b")(tx)
        if not cuts:
            cuts.append(1)
            scaled.cut("agentpost")
        tx.one("SELECT 1")

    found = await together(db, put("a"), cut, put("c"))
    assert not [each for each in found if isinstance(each, BaseException)]
    assert await names(db) == ["a", "b", "c"]


async def test_a_connection_that_breaks_before_the_commit_is_noticed_before_it(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    """Of a commit that was sent, nobody would know whether it happened."""
    cuts: list[int] = []

    def cut(tx: Tx) -> None:
        put("a")(tx)
        if not cuts:
            cuts.append(1)
            cut_off = scaled.backends("agentpost")
            scaled.cut("agentpost")
            eventually(lambda: not cut_off & scaled.backends("agentpost"))

    await db.write(cut)
    assert await names(db) == ["a"]


async def test_a_write_that_reads_nothing_outlives_a_restart(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    await db.write(lambda tx: tx.execute_nowait(INSERT, ("a", "")))
    scaled.cut("agentpost")
    await db.write(lambda tx: tx.execute_nowait(INSERT, ("b", "")))
    assert await names(db) == ["a", "b"]


async def test_who_waits_for_a_lock_holds_nobody_up(db: PostgresDatabase, scaled: Scaled) -> None:
    await db.write(put("a"))
    with psycopg.connect(scaled.url) as other:
        other.execute("SELECT value FROM meta WHERE name = 'a' FOR UPDATE")
        waiting = asyncio.create_task(db.write(lambda tx: tx.one(LOCK, ("a",))))
        await db.write(put("b"))
        assert not waiting.done()
        other.rollback()
    assert await waiting == ("",)


async def test_who_meets_a_lock_goes_first_and_the_others_with_it(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    """Nothing is committed that was not asked for, and nothing runs alone."""
    await db.write(put("held"))
    ran: list[str] = []
    with psycopg.connect(scaled.url) as other:
        other.execute("SELECT value FROM meta WHERE name = 'held' FOR UPDATE")

        def meets(tx: Tx) -> str:
            ran.append("meets")
            if ran.count("meets") == 2:
                other.rollback()
            tx.one(LOCK, ("held",))
            return put("a")(tx)

        def before(tx: Tx) -> str:
            ran.append("before")
            return put("b")(tx)

        found = await together(db, before, meets, put("c"))
    assert ran == ["before", "meets", "meets", "before"]
    assert len(set(found)) == 1
    assert await names(db) == ["a", "b", "c", "held"]


async def test_two_nodes_that_lock_in_opposite_orders_end_well(
    db: PostgresDatabase, scaled: Scaled
) -> None:
    other = PostgresDatabase(scaled.url)
    other.open()
    for name in "ab":
        await db.write(put(name))
    has = {"a": threading.Event(), "b": threading.Event()}

    def both(mine: str, others: str) -> Callable[[Tx], None]:
        def fn(tx: Tx) -> None:
            tx.one(LOCK, (mine,))
            has[mine].set()
            assert has[others].wait(PATIENCE)
            tx.one(LOCK, (others,))
            tx.execute_nowait("UPDATE meta SET value = value || ? WHERE name = ?", (mine, mine))

        return fn

    await asyncio.gather(db.write(both("a", "b")), other.write(both("b", "a")))
    assert await db.read(lambda tx: tx.all("SELECT value FROM meta ORDER BY name")) == [
        ("a",),
        ("b",),
    ]
    other.close()


async def test_a_query_sent_ahead_is_answered_once_and_for_its_function(
    db: PostgresDatabase,
) -> None:
    await db.write(put("a"))

    def fn(tx: Tx) -> list[Any]:
        query = "SELECT value FROM meta WHERE name = ?"
        tx.prefetch(query, ("a",))
        tx.one("SELECT 1")
        tx.execute_nowait("UPDATE meta SET value = ? WHERE name = ?", ("new", "a"))
        return [tx.one(query, ("a",)), tx.one(query, ("a",))]

    def unused(tx: Tx) -> None:
        tx.prefetch("SELECT value FROM meta WHERE name = ?", ("a",))

    def later(tx: Tx) -> Any:
        return tx.one("SELECT value FROM meta WHERE name = ?", ("a",))

    assert (await together(db, unused, fn, later))[1:] == [[("",), ("new",)], ("new",)]
