"""What the purge leaves alone, and that nothing stays for ever; on both databases."""

import asyncio
import threading

import pytest

from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database, Tx
from agentpost.db.sqlite import SqliteDatabase
from agentpost.explain import agent_lines
from agentpost.explain.timeline_rows import AgentLine
from agentpost.nodes import upkeep
from agentpost.operations import doctor
from agentpost.retention import actions as retention
from agentpost.turns import actions as turns
from tests.harness.context import NODE, Harness
from tests.harness.databases import harness
from tests.harness.ends import finish
from tests.waiting import PATIENCE

__all__ = ["harness"]

DAY = 86_400


def messages(harness: Harness) -> list[str]:
    return [row[0] for row in harness.all("SELECT id FROM messages ORDER BY id")]


async def problems(harness: Harness) -> list[tuple[str, str]]:
    return [(found.id, found.problem) for found in await doctor.examine(harness.ctx)]


# --- turns ----------------------------------------------------------------------------------------
async def test_a_message_whose_turn_is_open_stays(harness: Harness) -> None:
    """After an outage of weeks: the purge may come before those who end such turns."""
    running = (await harness.begin_turn("runs")).message.id
    waiting = (await harness.send("waits")).message.id
    harness.tick(15 * DAY)
    await retention.messages(harness.ctx)
    assert messages(harness) == [running, waiting]

    await turns.reclaim(harness.ctx, running, NODE)
    await retention.messages(harness.ctx)
    assert messages(harness) == []
    assert await problems(harness) == []
    await harness.end(await harness.begin_turn("the next"), "Hello!")


@pytest.mark.parametrize("named", ["msg_gone", "ended"])
async def test_a_conversation_that_nobody_holds_is_free(harness: Harness, named: str) -> None:
    """Whatever it names as its turn, if that does not run."""
    ticket = await harness.begin_turn("earlier")
    await harness.end(ticket)
    stale = ticket.message.id if named == "ended" else named
    conversation = ticket.message.conversation_id

    async def block() -> None:
        sql = "UPDATE conversations SET turn_message_id = ? WHERE id = ?"
        await harness.ctx.db.write(lambda tx: tx.execute(sql, (stale, conversation)))

    await block()
    assert await problems(harness) == [
        (
            conversation,
            "the conversation points at a turn that is not running; later messages are blocked",
        )
    ]
    await harness.end(await harness.begin_turn("the next"))
    assert await problems(harness) == []

    before = await harness.begin_turn("before")
    waiting = (await harness.send("waits")).message.id
    await harness.end(before)
    sql = "UPDATE messages SET turn_state = 'waiting' WHERE id = ?"
    await harness.ctx.db.write(lambda tx: tx.execute(sql, (waiting,)))
    await block()
    assert (await upkeep.left_behind(harness.ctx, set()))[0] == [(waiting, None, 0)]
    await turns.reclaim(harness.ctx, waiting, None)
    await harness.end(harness.ticket(waiting))
    assert harness.view(waiting)["status"] == "completed"
    assert await problems(harness) == []


# --- jobs of several messages ---------------------------------------------------------------------
async def test_two_nodes_that_purge_leave_no_job(harness: Harness, schema_url: str | None) -> None:
    """Each message lists the job; who comes second has to see that the first is gone."""
    first, [job] = await harness.working()
    follower = await harness.begin_turn("joins", conversation="another")
    assert await harness.join(follower, job.job_id)
    await harness.end(follower)
    await finish(harness.ctx, job, "Done.", None, "{}")
    harness.tick(30 * DAY)
    deleted, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def purge_slowly(tx: Tx) -> None:
        retention._delete_some(harness.ctx, first, tx)
        loop.call_soon_threadsafe(deleted.set)
        assert go_on.wait(PATIENCE)

    node: Database = harness.ctx.db
    if schema_url is not None:
        node = PostgresDatabase(schema_url)
        await asyncio.to_thread(node.open)
    slow = asyncio.create_task(node.write(purge_slowly))
    await deleted.wait()
    other = asyncio.create_task(retention.purge_message(harness.ctx, follower.message.id))
    while not other.done() and not waits_for_a_lock(harness):  # noqa: ASYNC110 - the database knows
        await asyncio.sleep(0.01)
    go_on.set()
    await asyncio.gather(slow, other)
    if node is not harness.ctx.db:
        await asyncio.to_thread(node.close)
    assert messages(harness) == []
    assert harness.all("SELECT id FROM jobs") == []


async def test_lines_of_a_run_that_ends_after_the_deletion_are_not_kept(harness: Harness) -> None:
    """Nothing would delete them."""
    message_id, [job] = await harness.working()
    owners = (message_id, job.job_id)
    line = AgentLine(0, None, "info", "the end")
    for owner in owners:
        await agent_lines.keep(harness.ctx, owner, [line])
    assert sorted(harness.all("SELECT owner FROM agent_lines")) == sorted((o,) for o in owners)
    await finish(harness.ctx, job, "Done.", None, "{}")
    harness.tick(30 * DAY)
    await retention.purge_message(harness.ctx, message_id)
    for owner in owners:
        await agent_lines.keep(harness.ctx, owner, [line])
    assert harness.all("SELECT owner FROM agent_lines") == []


def waits_for_a_lock(harness: Harness) -> bool:
    """Whether somebody does. On SQLite, which has one writer, everybody does."""
    if isinstance(harness.ctx.db, SqliteDatabase):
        return True
    sql = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity"
    return harness.all(f"{sql} WHERE datname = current_database())") != []
