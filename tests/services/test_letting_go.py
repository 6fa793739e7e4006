"""What the purge leaves alone, and that nothing stays for ever; on both databases."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.db.session import Tx
from agentpost.db.sqlite import SqliteDatabase
from agentpost.services import doctor, jobs, retention, turns, upkeep
from tests.services.both import schema_url
from tests.services.house import NODE, Desk, opened

__all__ = ["schema_url"]

DAY = 86_400


@pytest.fixture
async def desk(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Desk]:
    """A context on each database."""
    async with opened(tmp_path, postgres_url=schema_url) as made:
        yield made


def messages(desk: Desk) -> list[str]:
    return [row[0] for row in desk.all("SELECT id FROM messages ORDER BY id")]


async def problems(desk: Desk) -> list[tuple[str, str]]:
    return [(found.id, found.problem) for found in await doctor.examine(desk.ctx)]


# --- turns ----------------------------------------------------------------------------------------
async def test_a_message_whose_turn_is_open_stays(desk: Desk) -> None:
    """After an outage of weeks: the purge may come before those who end such turns."""
    running = (await desk.begun("runs")).message.id
    waiting = (await desk.send("waits")).message.id
    desk.tick(15 * DAY)
    await retention.messages(desk.ctx)
    assert messages(desk) == [running, waiting]

    await turns.reclaim(desk.ctx, running, NODE)
    await retention.messages(desk.ctx)
    assert messages(desk) == []
    assert await problems(desk) == []
    await desk.end(await desk.begun("the next"), "Hello!")


@pytest.mark.parametrize("named", ["msg_gone", "ended"])
async def test_a_conversation_that_nobody_holds_is_free(desk: Desk, named: str) -> None:
    """Whatever it names as its turn, if that does not run."""
    ticket = await desk.begun("earlier")
    await desk.end(ticket)
    stale = ticket.message.id if named == "ended" else named
    conversation = ticket.message.conversation_id

    async def block() -> None:
        sql = "UPDATE conversations SET turn_message_id = ? WHERE id = ?"
        await desk.ctx.db.write(lambda tx: tx.execute(sql, (stale, conversation)))

    await block()
    assert await problems(desk) == [
        (conversation, "its turn is said to run, but does not: who comes next would wait for it")
    ]
    await desk.end(await desk.begun("the next"))
    assert await problems(desk) == []

    before = await desk.begun("before")
    waiting = (await desk.send("waits")).message.id
    await desk.end(before)
    sql = "UPDATE messages SET turn_state = 'waiting' WHERE id = ?"
    await desk.ctx.db.write(lambda tx: tx.execute(sql, (waiting,)))
    await block()
    assert (await upkeep.left_behind(desk.ctx, set())).turns == [(waiting, None)]
    await turns.reclaim(desk.ctx, waiting, None)
    await desk.end(desk.ticket(waiting))
    assert desk.shown(waiting)["status"] == "completed"
    assert await problems(desk) == []


# --- jobs of several messages ---------------------------------------------------------------------
async def test_two_nodes_that_purge_leave_no_job(desk: Desk) -> None:
    """Each message lists the job; who comes second has to see that the first is gone."""
    first, [job] = await desk.working()
    follower = await desk.begun("joins", conversation="another")
    assert await desk.join(follower, job.job_id)
    await desk.end(follower)
    await jobs.finish(desk.ctx, job, "Done.", None, "{}")
    desk.tick(30 * DAY)
    deleted, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def purge_slowly(tx: Tx) -> None:
        retention._delete_some(desk.ctx, first, tx)
        loop.call_soon_threadsafe(deleted.set)
        assert go_on.wait(20)

    slow = asyncio.create_task(desk.ctx.db.write(purge_slowly))
    await deleted.wait()
    other = asyncio.create_task(retention.purge_message(desk.ctx, follower.message.id))
    while not other.done() and not waits_for_a_lock(desk):  # noqa: ASYNC110 - the database knows
        await asyncio.sleep(0.01)
    go_on.set()
    await asyncio.gather(slow, other)
    assert messages(desk) == []
    assert desk.all("SELECT id FROM jobs") == []


def waits_for_a_lock(desk: Desk) -> bool:
    """Whether somebody does. On SQLite, which has one writer, everybody does."""
    if isinstance(desk.ctx.db, SqliteDatabase):
        return True
    sql = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity"
    return desk.all(f"{sql} WHERE datname = current_database())") != []
