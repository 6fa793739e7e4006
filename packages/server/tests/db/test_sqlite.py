"""SQLite on a disk that fails: every writer hears of it, and the thread goes on (design: Group
commit).

The disk is filled for real: this process may not make its files longer, so SQLite's own writes
come back with an error, wherever in a transaction it happens to be.
"""

import asyncio
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agentpost.db import sqlite, sqlite_group
from agentpost.db.session import Tx
from agentpost.db.sqlite import SqliteDatabase
from agentpost.db.sqlite_group import SqliteTx
from agentpost.domain.errors import StoreUnavailable
from tests.waiting import PATIENCE, eventually_async


def connection_of(tx: Tx) -> sqlite3.Connection:
    assert isinstance(tx, SqliteTx)
    return tx.connection


INSERT = "INSERT INTO samples (body) VALUES (?)"


@contextmanager
def full_disk() -> Iterator[None]:
    """Inside: no file of this process gets longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with capture_logs():  # what tests print goes to a file as well
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def put(body: str = "x") -> Callable[[Tx], int]:
    return lambda tx: tx.execute(INSERT, (body,))


async def count(db: SqliteDatabase) -> int:
    row = await db.read(lambda tx: tx.one("SELECT COUNT(*) FROM samples"))
    assert row is not None
    return int(row[0])


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    made = SqliteDatabase(tmp_path / "a.db", external_check_seconds=0.01)
    made.open()
    await made.write(lambda tx: tx.execute("CREATE TABLE samples (body TEXT)"))
    async with asyncio.timeout(PATIENCE):
        yield made
    await asyncio.to_thread(made.close)


async def test_on_a_full_disk_every_writer_hears_of_it_and_later_ones_succeed(
    db: SqliteDatabase,
) -> None:
    with full_disk():
        # More than the page cache holds, so that it fails inside a function as well.
        bodies = [put("x" * size) for size in (1, 8_000_000, 1, 1)]
        reported = await asyncio.gather(*map(db.write, bodies), return_exceptions=True)
    assert [type(error) for error in reported] == [sqlite3.OperationalError] * 4
    assert "no transaction" not in str(reported[1]), "the cause is told, not what followed from it"
    await db.write(put())
    assert await count(db) == 1


async def test_a_connection_that_cannot_take_back_is_replaced(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close_it(tx: Tx) -> None:
        connection_of(tx).close()  # whatever is done with it from here on raises

    with pytest.raises(sqlite3.ProgrammingError):
        await db.write(close_it)
    await db.write(put())

    # Nor can a new one be made for a while: each writer is told, none waits for ever.
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", _refuse)
        with pytest.raises(sqlite3.ProgrammingError):
            await db.write(close_it)
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            await db.write(put())
    await db.write(put())
    assert await count(db) == 2


def _refuse(*_: object, **__: object) -> sqlite3.Connection:
    raise sqlite3.OperationalError("unable to open database file")


async def test_a_failed_check_for_external_commits_is_repeated(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    def fail(_: sqlite3.Connection) -> int:
        looked.set()
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_data_version", fail)
        await asyncio.to_thread(looked.wait, PATIENCE)
        await db.write(put())
    await db.write(put())
    assert await count(db) == 2


async def test_commits_missed_by_a_broken_connection_are_looked_for(tmp_path: Path) -> None:
    seen = threading.Event()
    db = SqliteDatabase(tmp_path / "a.db", on_external_commit=seen.set, external_check_seconds=0.01)
    db.open()
    with pytest.raises(sqlite3.ProgrammingError):
        await db.write(lambda tx: connection_of(tx).close())
    assert await asyncio.to_thread(seen.wait, PATIENCE)
    await asyncio.to_thread(db.close)


async def test_a_swallowed_loss_of_the_transaction_is_no_commit(db: SqliteDatabase) -> None:
    def fn(tx: Tx) -> None:
        put()(tx)
        tx.execute("ROLLBACK")  # what SQLite does by itself when the disk is full

    with pytest.raises(sqlite3.OperationalError, match="taken back"):
        await db.write(fn)
    assert await count(db) == 0


@contextmanager
def gathering(db: SqliteDatabase, tasks: list[asyncio.Task[object]]) -> Iterator[None]:
    """What is written inside shares one transaction, behind a function that waits for all of it."""
    go_on = threading.Event()

    def first(tx: Tx) -> None:
        go_on.wait(PATIENCE)

    tasks.append(asyncio.ensure_future(db.write(first)))
    try:
        yield
    finally:
        go_on.set()


async def test_the_others_of_a_group_run_again_when_one_fails(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a group would be over before all are in it, and the care before the second.
    monkeypatch.setattr(sqlite_group, "_SECONDS_MAX", PATIENCE)
    monkeypatch.setattr(sqlite, "_CAREFUL_SECONDS", PATIENCE)
    called: list[str] = []
    followed: list[str] = []

    def insert(name: str, *, fails: bool = False) -> Callable[[Tx], str]:
        def fn(tx: Tx) -> str:
            called.append(name)
            tx.execute(INSERT, (name,))
            tx.after(lambda: followed.append(name))
            if fails:
                raise LookupError(name)
            return name

        return fn

    async def group(*functions: Callable[[Tx], str]) -> list[object]:
        tasks: list[asyncio.Task[object]] = []
        with gathering(db, tasks):
            tasks += [asyncio.ensure_future(db.write(fn)) for fn in functions]
            await asyncio.sleep(0)  # they are in the queue
        return list(await asyncio.gather(*tasks, return_exceptions=True))[1:]

    wrong = insert("wrong", fails=True)
    results = await group(insert("a"), wrong, insert("b"))
    assert [str(result) for result in results] == ["a", "wrong", "b"]
    assert called == ["a", "wrong", "a", "wrong", "b"]
    assert followed == ["a", "b"]
    assert await count(db) == 2

    # Whoever fails again and again does not make others run again each time.
    called.clear()
    await group(insert("c"), wrong, insert("d"), wrong)
    assert called == ["c", "wrong", "d", "wrong"]
    assert await count(db) == 4


async def test_a_callback_that_exits_does_not_take_the_thread_along(db: SqliteDatabase) -> None:
    def leave() -> None:
        raise SystemExit

    def fn(tx: Tx) -> None:
        tx.after(leave)

    await db.write(fn)
    await db.write(put())


async def test_a_reader_that_broke_reads_again(db: SqliteDatabase) -> None:
    await db.write(put())

    def break_it(tx: Tx) -> None:
        connection_of(tx).close()

    for _ in range(2 * sqlite.READERS):  # every reader in turn
        with pytest.raises(sqlite3.ProgrammingError):
            await db.read(break_it)
    assert [await count(db) for _ in range(2 * sqlite.READERS)] == [1] * 2 * sqlite.READERS


async def test_a_file_that_cannot_be_opened_is_reported_at_once(tmp_path: Path) -> None:
    db = SqliteDatabase(tmp_path / "missing" / "a.db")
    with pytest.raises(sqlite3.OperationalError):
        db.open()
    db.close()


async def test_nothing_counts_as_stored_in_a_file_that_is_not_there_any_more(
    db: SqliteDatabase, tmp_path: Path
) -> None:
    db._external_check_seconds = PATIENCE  # else it looks while the files are moved one by one
    await db.write(put())  # whoever waited for less has looked
    after: list[str] = []

    def insert(tx: Tx) -> None:
        tx.execute(INSERT, ("lost",))
        tx.after(lambda: after.append("committed"))

    moved = tmp_path / "moved"
    moved.mkdir()
    for path in tmp_path.glob("a.db*"):
        path.rename(moved / path.name)
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="no longer the file at"):
                await db.write(insert)
    assert after == []
    assert len(logs) == 1, "said once, not for each write"
    assert [path for path in tmp_path.glob("a.db*") if path.name == "a.db"] == [], "none is made"
    for path in moved.iterdir():
        path.rename(tmp_path / path.name)
    assert await db.write(put()) == 1, "it is the same one again"


async def test_another_file_in_its_place_is_not_written_to(
    db: SqliteDatabase, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes((tmp_path / "a.db").read_bytes())
    other.replace(tmp_path / "a.db")
    with capture_logs():
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="deleted, moved or replaced"):
                await db.write(put())


async def test_a_write_ahead_log_that_was_deleted_is_noticed(tmp_path: Path) -> None:
    """What is written to it would be gone with the next start."""
    db = SqliteDatabase(tmp_path / "a.db", external_check_seconds=60)  # the write is to notice it
    db.open()
    await db.write(lambda tx: tx.execute("CREATE TABLE samples (body TEXT)"))
    (tmp_path / "a.db-wal").unlink()
    with capture_logs(), pytest.raises(StoreUnavailable, match=r"a\.db-wal was deleted"):
        await db.write(put())
    await asyncio.to_thread(db.close)


async def test_the_log_is_copied_when_nobody_waits(
    db: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the commit that makes it long, for which somebody waits."""
    monkeypatch.setattr(sqlite, "_CHECKPOINT_ROWS", 3)
    path = tmp_path / "a.db"
    answered: list[int] = []

    def long_log(tx: Tx) -> None:
        for _ in range(3):
            tx.execute(INSERT, ("x" * 2_000_000,))
        tx.after(lambda: answered.append(path.stat().st_size))

    before = path.stat().st_size
    await db.write(long_log)
    assert answered == [before]
    await eventually_async(lambda: path.stat().st_size > 6_000_000)
    assert await count(db) == 3


async def test_a_log_is_copied_though_somebody_always_waits(
    db: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteDatabase, "_copy_log", lambda _: None)
    await db.write(put("x" * 20_000_000))
    assert (tmp_path / "a.db").stat().st_size > 20_000_000
