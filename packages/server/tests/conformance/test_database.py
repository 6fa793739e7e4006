"""The database port: transactions that are atomic, durable for their caller, and never lost."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentpost.db.session import Database, DatabaseClosed, Row, Tx
from tests.conformance.adapters import Backend, Scaled
from tests.waiting import PATIENCE

INSERT = "INSERT INTO samples (id, n, body) VALUES (?, ?, ?)"
SELECT = "SELECT id, n, body FROM samples ORDER BY id"
LOCK = "SELECT n FROM samples WHERE id = ? /*for update*/"
SET = "UPDATE samples SET n = ? WHERE id = ?"


class Refused(Exception):
    """What a write function raises on purpose."""


def put(name: str, n: int | None = 0, body: str | None = None) -> Callable[[Tx], int]:
    return lambda tx: tx.execute(INSERT, (name, n, body))


async def rows(db: Database) -> list[Row]:
    return await db.read(lambda tx: tx.all(SELECT))


async def names(db: Database) -> list[str]:
    return [row[0] for row in await rows(db)]


def wait_for(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "waited in vain"


@pytest.fixture
async def another(backend: Backend, db: Database) -> AsyncIterator[Database]:
    """The same database, as another process would open it."""
    opened = backend.database()
    opened.open()
    yield opened
    await asyncio.to_thread(opened.close)


# --- what a transaction gives ---------------------------------------------------------------------
async def test_a_write_returns_its_value_and_is_seen(db: Database, another: Database) -> None:
    assert await db.write(put("a", 1, "text")) == 1
    assert await rows(db) == await rows(another) == [("a", 1, "text")]
    assert db.read_now(lambda tx: tx.one(SELECT)) == ("a", 1, "text")
    assert await db.read(lambda tx: tx.one("SELECT id FROM samples WHERE n = ?", (2,))) is None


async def test_the_number_of_changed_rows_is_reported(db: Database) -> None:
    conflict = f"{INSERT} ON CONFLICT (id) DO NOTHING"
    for statement, values, changed in (
        (conflict, ("a", 2, None), 1),
        (conflict, ("a", 2, None), 0),
        (SET, (1, "a"), 1),
        (SET, (1, "b"), 0),
    ):
        assert await db.write(lambda tx, of=(statement, values): tx.execute(*of)) == changed  # type: ignore[misc]


@pytest.mark.parametrize(
    ("n", "body"),
    [
        (2**63 - 1, ""),
        (-(2**63), "a\nb\t'\"\\%s%%$1:name"),
        (0, "ünï¢ödé 漢字 🦊 \u202e \ufeff"),
        (None, None),
        (1, "x" * 1_000_000),
    ],
)
async def test_values_come_back_as_they_were(db: Database, n: int | None, body: str | None) -> None:
    await db.write(put("a", n, body))
    assert await rows(db) == [("a", n, body)]


# --- all or nothing -------------------------------------------------------------------------------
async def test_a_failed_function_leaves_nothing_and_raises(db: Database) -> None:
    def fail(tx: Tx) -> None:
        put("a")(tx)
        raise Refused

    with pytest.raises(Refused):
        await db.write(fail)
    assert await names(db) == []


async def test_a_refused_statement_fails_its_own_transaction_only(db: Database) -> None:
    await db.write(put("a"))

    def twice(tx: Tx) -> None:
        put("b")(tx)
        put("a")(tx)

    with pytest.raises(Exception, match=r"(?i)unique"):
        await db.write(twice)
    await db.write(put("c"))
    assert await names(db) == ["a", "c"]


async def test_a_row_that_was_not_there_is_why_what_follows_fails(db: Database) -> None:
    """The answer to a change may come after what the function made of it."""

    def changed(tx: Tx) -> None:
        tx.update_exactly_one(SET, (1, "none"), Refused())
        raise AssertionError("as if the row had been there")

    with pytest.raises(Refused):
        await db.write(changed)


async def test_one_that_fails_does_not_hurt_the_others(db: Database) -> None:
    def write(n: int) -> Callable[[Tx], int]:
        def fn(tx: Tx) -> int:
            put(f"{n:02}")(tx)
            if n % 7 == 0:
                raise Refused
            if n % 7 == 1:
                put(f"{n:02}")(tx)  # the key is taken
            return n

        return fn

    results = await asyncio.gather(*(db.write(write(n)) for n in range(50)), return_exceptions=True)
    good = [n for n in range(50) if n % 7 > 1]
    assert [r for r in results if isinstance(r, int)] == good
    assert await names(db) == [f"{n:02}" for n in good]


# --- what follows a commit ------------------------------------------------------------------------
async def test_callbacks_run_after_the_commit_and_only_then(
    db: Database, another: Database
) -> None:
    seen: list[Any] = []

    def good(tx: Tx) -> None:
        put("a")(tx)
        tx.after(lambda: seen.append(another.read_now(lambda r: r.all(SELECT))))

    def bad(tx: Tx) -> None:
        tx.after(lambda: seen.append("bad"))
        raise Refused

    outcomes = await asyncio.gather(db.write(bad), db.write(good), return_exceptions=True)
    assert isinstance(outcomes[0], Refused)
    assert seen == [[("a", 0, None)]]


async def test_a_broken_callback_harms_nobody(db: Database) -> None:
    called = threading.Event()

    def fn(tx: Tx) -> str:
        put("a")(tx)
        tx.after(lambda: 1 / 0)  # type: ignore[arg-type]
        tx.after(called.set)
        return "done"

    assert await db.write(fn) == "done"
    assert called.is_set()
    await db.write(put("b"))
    assert await names(db) == ["a", "b"]


async def test_a_transaction_goes_through_when_its_caller_is_cancelled(db: Database) -> None:
    running, release, committed = (threading.Event() for _ in range(3))

    def slow(tx: Tx) -> None:
        put("a")(tx)
        running.set()
        wait_for(release)
        tx.after(committed.set)

    task = asyncio.create_task(db.write(slow))
    await asyncio.to_thread(wait_for, running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    await asyncio.to_thread(wait_for, committed)
    assert await names(db) == ["a"]


@pytest.mark.parametrize("which", ["write", "read"])
async def test_a_failure_after_its_caller_was_cancelled_is_no_error_of_the_loop(
    db: Database, which: str
) -> None:
    """As a runner's write that is fenced while the runner is being stopped."""
    running, release, ended = (threading.Event() for _ in range(3))

    def fails(_: Tx) -> None:
        running.set()
        wait_for(release)
        try:
            raise Refused
        finally:
            ended.set()

    seen: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: seen.append(str(context["message"])))
    task = asyncio.create_task(db.write(fails) if which == "write" else db.read(fails))
    await asyncio.to_thread(wait_for, running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    del task
    await asyncio.to_thread(wait_for, ended)
    await asyncio.to_thread(db.close)  # waits for the thread that answers
    await asyncio.sleep(0)  # and that answer is taken by nobody
    gc.collect()
    assert seen == []


async def test_closing_finishes_what_was_accepted_and_refuses_more(
    db: Database, another: Database
) -> None:
    writes = [asyncio.create_task(another.write(put(f"{n:02}"))) for n in range(30)]
    closing = asyncio.create_task(asyncio.to_thread(another.close))
    while not closing.done():
        writes.append(asyncio.create_task(another.write(put(f"{len(writes):02}"))))
        await asyncio.sleep(0)
    ends = await asyncio.gather(*writes, return_exceptions=True)
    done = [end for end in ends if end == 1]
    assert all(isinstance(end, DatabaseClosed) for end in ends if end != 1), ends
    assert len(await names(db)) == len(done) >= 30
    with pytest.raises(DatabaseClosed):
        await another.write(put("late"))
    with pytest.raises(DatabaseClosed):
        await another.read(lambda tx: tx.one(SELECT))


# --- many at once ---------------------------------------------------------------------------------
async def test_concurrent_increments_are_exact(db: Database) -> None:
    await db.write(put("a"))

    def blind(tx: Tx) -> None:
        tx.execute("UPDATE samples SET n = n + 1 WHERE id = ?", ("a",))

    def read_first(tx: Tx) -> None:
        row = tx.one(LOCK, ("a",))
        assert row is not None
        tx.execute(SET, (row[0] + 1, "a"))

    await asyncio.gather(*(db.write(fn) for _ in range(60) for fn in (blind, read_first)))
    assert await rows(db) == [("a", 120, None)]


async def test_who_waits_for_a_row_sees_what_was_committed(db: Database) -> None:
    await db.write(put("a"))
    locked, release = threading.Event(), threading.Event()

    def first(tx: Tx) -> None:
        tx.one(LOCK, ("a",))
        tx.execute(SET, (1, "a"))
        locked.set()
        wait_for(release)

    writing = asyncio.create_task(db.write(first))
    await asyncio.to_thread(wait_for, locked)
    waiting = asyncio.create_task(db.write(lambda tx: tx.one(LOCK, ("a",))))
    assert await rows(db) == [("a", 0, None)], "a reader waits for nobody and sees no open change"
    release.set()
    await writing
    assert await waiting == (1,)


async def test_nothing_is_claimed_twice(db: Database) -> None:
    for n in range(40):
        await db.write(put(f"{n:02}"))
    pick = "SELECT id FROM samples WHERE n = 0 ORDER BY id LIMIT 3 /*skip locked*/"

    def claim(tx: Tx) -> list[str]:
        found = [row[0] for row in tx.all(pick)]
        for name in found:
            tx.execute(SET, (1, name))
        return found

    claimed = await asyncio.gather(*(db.write(claim) for _ in range(20)))
    flat = [name for some in claimed for name in some]
    assert len(flat) == len(set(flat))
    while some := await db.write(claim):
        flat += some
    assert len(flat) == 40


async def test_locking_in_opposite_orders_ends_well(db: Database) -> None:
    for name in "ab":
        await db.write(put(name))
    has = {"a": threading.Event(), "b": threading.Event()}

    def both(mine: str, other: str) -> Callable[[Tx], None]:
        def fn(tx: Tx) -> None:
            tx.one(LOCK, (mine,))
            has[mine].set()
            has[other].wait(0.3)  # where there is one writer, the other one cannot come
            tx.one(LOCK, (other,))
            for name in "ab":
                tx.execute("UPDATE samples SET n = n + 1 WHERE id = ?", (name,))

        return fn

    await asyncio.gather(db.write(both("a", "b")), db.write(both("b", "a")))
    assert await rows(db) == [("a", 2, None), ("b", 2, None)]


# --- reading --------------------------------------------------------------------------------------
async def test_a_read_sees_one_moment(db: Database) -> None:
    await db.write(put("a"))
    looked, written = threading.Event(), threading.Event()

    def twice(tx: Tx) -> list[list[Row]]:
        before = tx.all(SELECT)
        looked.set()
        wait_for(written)
        return [before, tx.all(SELECT)]

    reading = asyncio.create_task(db.read(twice))
    await asyncio.to_thread(wait_for, looked)
    await db.write(put("b"))
    written.set()
    first, second = await reading
    assert first == second == [("a", 0, None)]
    assert await names(db) == ["a", "b"]


async def test_a_read_cannot_write(db: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"):
        await db.read(put("a"))
    with pytest.raises(Refused):
        await db.read(_refuse)
    assert await names(db) == []


def _refuse(_: Tx) -> None:
    raise Refused


async def test_it_serves_any_thread_and_any_loop(db: Database) -> None:
    async def elsewhere(name: str) -> list[str]:
        await db.write(put(name))
        return await names(db)

    found = await asyncio.gather(
        *(asyncio.to_thread(asyncio.run, elsewhere(name)) for name in "abc")
    )
    assert all(set(some) <= {"a", "b", "c"} for some in found)
    assert await names(db) == ["a", "b", "c"]


# --- where the database is a server ---------------------------------------------------------------
async def test_a_connection_that_breaks_before_the_commit_is_made_good(
    scaled: Scaled, postgres_db: Database
) -> None:
    tries: list[int] = []

    def fn(tx: Tx) -> None:
        tries.append(1)
        tx.execute("INSERT INTO meta (name, value) VALUES (?, ?)", ("a", "b"))
        if len(tries) == 1:
            scaled.cut("agentpost")
        tx.one("SELECT 1")

    await postgres_db.write(fn)
    assert len(tries) == 2
    assert await postgres_db.read(lambda tx: tx.all("SELECT name FROM meta")) == [("a",)]
