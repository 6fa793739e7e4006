"""The wake-ups port: hints reach who listens, once they are true; holds are one at a time."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial

import psycopg
import pytest

from agentpost.clock import SystemClock
from agentpost.db.postgres import PostgresDedicatedConnection
from agentpost.db.session import Tx
from agentpost.nodes.heartbeat import Heartbeat
from agentpost.nodes.lease import LEASE_SECONDS, Lease
from agentpost.wakeups import postgres
from agentpost.wakeups.base import TEXT_BYTES_MAX, Wait, Wakeups
from agentpost.wakeups.notices import PostgresNotices
from agentpost.wakeups.postgres import PostgresWakeups
from tests.conformance.adapters import Node, Scaled
from tests.waiting import PATIENCE, eventually_awaited

BRIEF = 0.05
"""Long enough for a hint that is on its way to arrive by mistake."""


@pytest.fixture
def node(nodes: list[Node]) -> Node:
    """One node of each kind."""
    return nodes[0]


async def publish(node: Node, *subjects: str) -> None:
    await node.db.write(lambda tx: node.wakeups.publish(tx, *subjects))


# --- texts ----------------------------------------------------------------------------------------
async def heard(wait: Wait, count: int) -> list[str]:
    """So many texts."""
    found: list[str] = []
    while len(found) < count:
        assert not await wait.wait(PATIENCE) or found
        more = wait.texts()
        assert more, f"only {found} came"
        found += more
    return found


async def test_texts_reach_who_listens_to_them_on_every_node(nodes: list[Node]) -> None:
    with (
        nodes[-1].wakeups.listen("msg_1", texts=True) as wait,
        nodes[-1].wakeups.listen("msg_2", texts=True) as other,
        nodes[-1].wakeups.listen("msg_1") as deaf,
    ):
        for text in ('{"one\\"}', "two words é", "x" * (TEXT_BYTES_MAX - 10)):
            nodes[0].wakeups.tell("msg_1", text)
        came = [text[:11] for text in await heard(wait, 3)]
        assert came == ['{"one\\"}', "two words é", "x" * 11]
        assert not wait.has_texts
        assert other.texts() == deaf.texts() == []
        assert not await deaf.wait(BRIEF)


async def test_what_nobody_takes_is_lost(node: Node) -> None:
    with node.wakeups.listen("msg_1", texts=True) as wait:
        for n in range(1_000):
            node.wakeups.tell("msg_1", str(n))
        await asyncio.sleep(0)
        assert wait.texts() == [str(n) for n in range(100)]
        node.wakeups.hint("msg_1")
        assert await wait.wait(PATIENCE), "hints come beside texts"


# --- hints ----------------------------------------------------------------------------------------
async def test_a_commit_wakes_who_waits_on_any_node(nodes: list[Node]) -> None:
    with nodes[0].wakeups.listen("a") as near, nodes[-1].wakeups.listen("a") as far:
        for node in nodes:
            waiting = [asyncio.create_task(wait.wait(PATIENCE)) for wait in (near, far)]
            await publish(node, "a")
            assert await asyncio.gather(*waiting) == [True, True]


async def test_a_hint_as_the_time_ends_is_not_missed(node: Node) -> None:
    with node.wakeups.listen("a") as wait:
        loop = asyncio.get_running_loop()
        loop.call_later(BRIEF, node.wakeups.hint, "a")
        loop.call_soon(time.sleep, 2 * BRIEF)  # so both are due at once
        assert await wait.wait(BRIEF) or await wait.wait(1)


async def test_a_hint_between_looking_and_waiting_wakes_once(node: Node) -> None:
    with node.wakeups.listen("a") as wait:
        await publish(node, "a")
        began = time.monotonic()
        assert await wait.wait(PATIENCE)
        assert time.monotonic() - began < PATIENCE / 2
        assert not await wait.wait(BRIEF)


async def test_a_rolled_back_change_wakes_nobody(node: Node) -> None:
    def fail(tx: Tx) -> None:
        node.wakeups.publish(tx, "a")
        raise LookupError

    with node.wakeups.listen("a") as wait, node.wakeups.listen("b") as other:
        with pytest.raises(LookupError):
            await node.db.write(fail)
        await publish(node, "b")
        assert await other.wait(PATIENCE)
        assert not await wait.wait(BRIEF)


async def test_only_and_all_of_its_listeners_wake(node: Node) -> None:
    listen = node.wakeups.listen
    with listen("a") as one, listen("a") as two, listen("b") as other:
        await publish(node, "c", "a")
        assert await one.wait(PATIENCE)
        assert await two.wait(PATIENCE)
        assert not await other.wait(BRIEF)


async def test_the_topics_waited_for_are_listed(node: Node) -> None:
    with node.wakeups.listen("a"), node.wakeups.listen("b"):
        with node.wakeups.listen("a"):
            assert sorted(node.wakeups.waited_for()) == ["a", "b"]
        assert sorted(node.wakeups.waited_for()) == ["a", "b"]
    assert node.wakeups.waited_for() == []


async def test_a_hint_may_come_from_any_thread(node: Node) -> None:
    with node.wakeups.listen("a") as wait:
        waiting = asyncio.create_task(wait.wait(PATIENCE))
        thread = threading.Thread(target=node.wakeups.hint, args=("a",))
        thread.start()
        assert await waiting
        thread.join()


async def test_a_wait_ends_with_its_time_or_when_cancelled(node: Node) -> None:
    with node.wakeups.listen("a") as wait:
        assert not await wait.wait(0)
        assert not await wait.wait(BRIEF)
        assert not wait.over
        waiting = asyncio.create_task(wait.wait(PATIENCE))
        await asyncio.sleep(0)
        wait.cancel()
        assert not await waiting
        assert wait.over


async def test_a_closed_door_ends_all_waits(node: Node) -> None:
    with node.wakeups.listen("a") as wait:
        waiting = asyncio.create_task(wait.wait(PATIENCE))
        await asyncio.sleep(0)
        node.wakeups.begin_shutdown()
        assert not await waiting
        assert wait.over
    with node.wakeups.listen("a") as late:
        assert late.over
        assert not await late.wait(PATIENCE)


# --- holds ----------------------------------------------------------------------------------------
async def test_a_hold_is_one_at_a_time_over_all_nodes(nodes: list[Node]) -> None:
    here, there = nodes[0].wakeups, nodes[-1].wakeups
    async with here.reader_lock("a") as ours:
        assert ours
        async with there.reader_lock("a") as theirs, there.reader_lock("b") as other:
            assert not theirs
            assert other
        for wakeups in (here, there):
            async with wakeups.reader_lock("a") as third:
                assert not third, "who was refused takes nothing away"
    async with there.reader_lock("a") as again:
        assert again


async def test_a_hold_ends_when_its_owner_is_cancelled_at_any_moment(nodes: list[Node]) -> None:
    async def owner(wakeups: Wakeups) -> None:
        async with wakeups.reader_lock("a"):
            await asyncio.Event().wait()

    for turns_of_the_loop in range(8):
        task = asyncio.create_task(owner(nodes[0].wakeups))
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await eventually_awaited(partial(_is_free, nodes[-1].wakeups))


async def _is_free(wakeups: Wakeups) -> bool:
    async with wakeups.reader_lock("a") as ours:
        return ours


# --- several nodes --------------------------------------------------------------------------------
async def test_what_only_calls_wait_for_goes_to_nodes_that_answer_some(
    pair: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_JOINING_SECONDS", 0.0)
    here, there = pair
    readers = False
    here.wakeups.ask_for_readers(lambda: readers)
    with ExitStack() as ends:
        near = ends.enter_context(here.wakeups.listen("msg_1"))
        far, text, job = [
            ends.enter_context(there.wakeups.listen(subject, texts=subject == "msg_2"))
            for subject in ("msg_1", "msg_2", "exe_1")
        ]

        async def say() -> None:
            here.wakeups.tell("msg_2", "shown")
            await publish(here, "msg_1", "acc_1", "exe_1")
            assert await near.wait(PATIENCE)
            assert await job.wait(PATIENCE), "jobs run everywhere"  # the last that was sent

        await eventually_awaited(partial(_nobody_joins, here.wakeups))
        await say()
        assert not await far.wait(0)
        assert not text.has_texts
        readers = True
        await say()
        assert await far.wait(0)
        assert text.texts() == ["shown"]


async def _nobody_joins(wakeups: Wakeups) -> bool:
    assert isinstance(wakeups, PostgresWakeups)
    return not wakeups._has_readers_elsewhere()


async def test_a_node_that_joins_hears_before_its_beat_is_seen(
    pair: list[Node], scaled: Scaled
) -> None:
    here = pair[0].wakeups
    assert isinstance(here, PostgresWakeups)
    here.ask_for_readers(lambda: False)
    here._joined_until = 0.0
    late = PostgresWakeups(scaled.url, PostgresNotices(scaled.url))
    await late.start()

    async def reached() -> bool:
        return not await _nobody_joins(here)

    await eventually_awaited(reached)
    await late.stop()


async def test_a_node_that_was_taken_for_dead_looks_again_and_says_that_it_is_back(
    pair: list[Node],
) -> None:
    here, there = (node.wakeups for node in pair)
    assert isinstance(here, PostgresWakeups)
    here.ask_for_readers(lambda: False)
    here._joined_until = 0.0
    with there.listen("msg_1") as wait:
        there.rejoin()
        assert await wait.wait(PATIENCE)

    async def reached() -> bool:
        return not await _nobody_joins(here)

    await eventually_awaited(reached)


async def test_a_node_that_is_back_says_so_though_its_session_broke_meanwhile(
    pair: list[Node], scaled: Scaled
) -> None:
    here, there = (node.wakeups for node in pair)
    assert isinstance(here, PostgresWakeups)
    here.ask_for_readers(lambda: False)
    stood_still = 0.0
    lease = Lease(LEASE_SECONDS, now=lambda: time.monotonic() + stood_still)
    line = PostgresDedicatedConnection(scaled.url)
    heart = Heartbeat(line, "node_1", SystemClock(), lease, rejoin=there.rejoin)

    async def has_joined() -> bool:
        return here._joined_until > 0

    async def is_cut() -> bool:
        return not scaled.backends("agentpost notify")

    await eventually_awaited(has_joined)  # so its sender has a session
    await asyncio.to_thread(heart.start)
    try:
        scaled.cut("agentpost notify")
        await eventually_awaited(is_cut)
        here._joined_until = 0.0
        stood_still = 2 * LEASE_SECONDS
        await eventually_awaited(has_joined)
    finally:
        await asyncio.to_thread(heart.stop)


async def test_a_lost_connection_comes_back_and_wakes_everybody(
    pair: list[Node], scaled: Scaled
) -> None:
    here, there = pair
    with there.wakeups.listen("a") as wait, there.wakeups.listen("b") as other:
        scaled.cut("agentpost notices")
        assert await wait.wait(PATIENCE), "what was missed is unknown: everybody looks again"
        assert await other.wait(PATIENCE)
        await publish(here, "a")
        assert await wait.wait(PATIENCE)


async def test_a_listener_that_raises_does_not_end_the_listening(
    pair: list[Node], scaled: Scaled
) -> None:
    notices, back, heard = PostgresNotices(scaled.url), asyncio.Event(), asyncio.Event()

    def break_down() -> None:
        back.set()
        raise LookupError

    notices.on_reconnect(break_down)
    notices.on("topic", lambda _: heard.set())
    await notices.start()
    scaled.cut("agentpost notices")
    async with asyncio.timeout(PATIENCE):
        await back.wait()
        sender = PostgresNotices(scaled.url)
        await sender.start()
        await pair[0].db.write(lambda tx: sender.send(tx, "topic", "a"))
        await heard.wait()
        await sender.stop()
    await notices.stop()


async def test_a_hold_ends_with_the_process_that_has_it(pair: list[Node], scaled: Scaled) -> None:
    here, there = pair
    async with here.wakeups.reader_lock("a") as ours, here.wakeups.reader_lock("b"):
        assert ours
        scaled.cut("agentpost reader locks")  # what the server sees of a killed process
        await eventually_awaited(partial(_is_free, there.wakeups))
        with psycopg.connect(scaled.url) as connection:
            rows = "SELECT subject FROM reader_locks"
            assert connection.execute(rows.encode()).fetchall() == [], "it is cleared away"
    async with here.wakeups.reader_lock("a") as again:
        assert again


async def test_many_holds_are_taken_at_once(pair: list[Node]) -> None:
    async def reader_lock(node: Node, subject: str, all_in: asyncio.Barrier) -> bool:
        async with node.wakeups.reader_lock(subject) as ours:
            await all_in.wait()
            return ours

    barrier = asyncio.Barrier(100)
    held = [reader_lock(node, str(n), barrier) for n in range(50) for node in pair]
    results = await asyncio.gather(*held)
    assert sum(results) == 50


async def test_holds_take_no_locks_of_the_server(pair: list[Node], scaled: Scaled) -> None:
    """Each would take shared memory that everybody's statements need."""

    def advisory_locks() -> int:
        # Of this database only: the other test processes use the same PostgreSQL server.
        counted = (
            "SELECT COUNT(*) FROM pg_locks JOIN pg_database d ON d.oid = database"
            " WHERE locktype = 'advisory' AND d.datname = current_database()"
        )
        with psycopg.connect(scaled.url) as connection:
            found = connection.execute(counted.encode()).fetchone()
            assert found is not None
            return int(found[0])

    async with here_holds(pair[0], 300):
        assert advisory_locks() == 1
    async with pair[1].wakeups.reader_lock("0") as free:
        assert free


@asynccontextmanager
async def here_holds(node: Node, count: int) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for n in range(count):
            assert await stack.enter_async_context(node.wakeups.reader_lock(str(n)))
        yield
