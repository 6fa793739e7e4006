"""Held waits cost nothing while nothing happens, where every commit is seen; no hint stays lost."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

import pytest

from agentpost.db.session import Tx
from agentpost.following import long_polls
from tests.harness.driver import ManualHarness
from tests.waiting import PATIENCE, eventually_async

T = TypeVar("T")


class Reads:
    """Counts a database's reads."""

    def __init__(self, at: ManualHarness, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._real = at.ctx.db.read
        monkeypatch.setattr(at.ctx.db, "read", self._read)

    async def _read(self, fn: Callable[[Tx], T]) -> T:
        self.count += 1
        return await self._real(fn)


async def external_commit(at: ManualHarness, sql: str) -> None:
    """As a command beside the server makes it; returns when it was seen."""
    [(_, _, path)] = await at.rows("PRAGMA database_list")
    before = at.ctx.db.external_commits
    with closing(sqlite3.connect(str(path), timeout=PATIENCE)) as connection:
        connection.execute(sql)
        connection.commit()
    await eventually_async(lambda: at.ctx.db.external_commits != before)


async def test_nothing_is_read_while_nobody_else_commits(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = await at.say()
    recheck, reads = long_polls.Recheck(at.ctx), Reads(at, monkeypatch)
    with at.ctx.wakeups.listen(message_id):
        for _ in range(5):
            await recheck.run()
            await at.say()  # our own commits bring their hints
    assert reads.count == 0


async def test_another_process_commit_wakes_who_waits(at: ManualHarness) -> None:
    """Also who began to wait after the last look."""
    first, second = await at.say(), await at.say()
    recheck = long_polls.Recheck(at.ctx)
    for message_id in (first, second):
        with at.ctx.wakeups.listen(message_id) as wait:
            await external_commit(at, f"UPDATE messages SET version = 99 WHERE id = '{message_id}'")
            await recheck.run()
            assert await wait.wait(PATIENCE)
            await external_commit(at, "UPDATE accounts SET name = name || '.'")
            await recheck.run()
            assert not await wait.wait(0), "this message has not changed since"


async def test_another_process_commit_wakes_open_pages(at: ManualHarness) -> None:
    """Such as credits that an operator adds with the command: pages listen to their account."""
    recheck = long_polls.Recheck(at.ctx)
    with at.ctx.wakeups.listen("acc_1") as wait:
        await recheck.run()
        assert not await wait.wait(0)
        await external_commit(at, "UPDATE accounts SET name = name || '.'")
        await recheck.run()
        assert await wait.wait(PATIENCE)


async def test_a_look_that_fails_is_made_up_for(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = await at.say()
    recheck = long_polls.Recheck(at.ctx)

    async def failing(_: Callable[[Tx], T]) -> T:
        raise sqlite3.OperationalError("disk I/O error")

    with at.ctx.wakeups.listen(message_id) as wait:
        await external_commit(at, "UPDATE messages SET version = 99")
        with monkeypatch.context() as patched:
            patched.setattr(at.ctx.db, "read", failing)
            with pytest.raises(sqlite3.OperationalError):
                await recheck.run()
        await recheck.run()
        assert await wait.wait(PATIENCE)


async def test_changes_are_counted_when_there_are_any(at: ManualHarness) -> None:
    before = at.ctx.db.changes
    assert before is not None
    await at.ctx.db.write(lambda tx: tx.execute("DELETE FROM mails"))
    assert at.ctx.db.changes == before
    await at.say()
    after = at.ctx.db.changes
    assert after is not None
    assert after > before
    await external_commit(at, "UPDATE accounts SET name = 'B'")
    assert at.ctx.db.changes == after + 1
