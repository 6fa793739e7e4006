"""The engine port: a job placed in a transaction is run once that is committed, and only then."""

import asyncio
import threading
from collections.abc import Callable

import psycopg
import pytest

from agentpost.db.session import Tx
from agentpost.engine import procrastinate
from agentpost.engine.base import Transaction
from tests.conformance.adapters import Node, Scaled
from tests.waiting import PATIENCE, eventually_async


class Recorder:
    """A worker that writes down what it is told, on whatever thread."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, int | None]] = []
        self.aborted: list[str] = []
        self._changed = threading.Condition()

    def run(self, job_id: str, epoch: int | None) -> None:
        with self._changed:
            self.ran.append((job_id, epoch))
            self._changed.notify_all()

    def abort(self, job_id: str) -> None:
        with self._changed:
            self.aborted.append(job_id)
            self._changed.notify_all()

    @property
    def jobs(self) -> list[str]:
        return [job_id for job_id, _ in self.ran]

    async def until_ran(self, *job_ids: str) -> None:
        await asyncio.to_thread(self._wait, lambda: set(job_ids) <= set(self.jobs))

    async def until_aborted(self, *job_ids: str) -> None:
        await asyncio.to_thread(self._wait, lambda: set(job_ids) <= set(self.aborted))

    def _wait(self, happened: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(happened, PATIENCE), f"waited in vain: {self.ran}"


@pytest.fixture
def node(nodes: list[Node]) -> Node:
    """One node of each kind."""
    return nodes[0]


@pytest.fixture
async def executor(node: Node) -> Recorder:
    """The started engine's worker."""
    recorder = Recorder()
    await node.engine.start(recorder)
    return recorder


async def dispatch(node: Node, job_id: str, epoch: int = 1) -> str | None:
    return await node.db.write(lambda tx: node.engine.dispatch(tx, job_id, epoch))


async def abort(node: Node, job_id: str) -> None:
    await node.db.write(lambda tx: node.engine.abort(tx, job_id))


async def test_a_placed_job_is_run_by_who_owns_it(node: Node, executor: Recorder) -> None:
    owner = await dispatch(node, "job_a", 7)
    await executor.until_ran("job_a")
    # Owned at once, at the epoch it was placed with; or nobody's, to be claimed by who runs it.
    assert (owner, executor.ran) in ((node.name, [("job_a", 7)]), (None, [("job_a", None)]))


async def test_a_job_of_a_rolled_back_transaction_is_not_run(
    node: Node, executor: Recorder
) -> None:
    def fail(tx: Tx) -> None:
        node.engine.dispatch(tx, "job_a", 1)
        node.engine.abort(tx, "job_a")
        raise LookupError

    with pytest.raises(LookupError):
        await node.db.write(fail)
    await dispatch(node, "job_b")
    await abort(node, "job_b")
    await executor.until_ran("job_b")
    await executor.until_aborted("job_b")
    assert (executor.jobs, executor.aborted) == (["job_b"], ["job_b"])


async def test_many_jobs_are_each_run_once(node: Node, executor: Recorder) -> None:
    jobs = [f"job_{n}" for n in range(40)]
    await asyncio.gather(*(dispatch(node, job_id) for job_id in jobs))
    await executor.until_ran(*jobs)
    assert sorted(executor.jobs) == sorted(jobs)


async def test_an_abort_reaches_the_worker_once(node: Node, executor: Recorder) -> None:
    await abort(node, "job_a")
    await abort(node, "job_b")
    await executor.until_aborted("job_a", "job_b")
    assert executor.aborted == ["job_a", "job_b"]


async def test_without_a_worker_a_process_only_places(node: Node) -> None:
    await node.engine.start(None)
    assert await dispatch(node, "job_a") is None
    await abort(node, "job_a")


async def test_a_stopped_engine_gives_out_no_more(nodes: list[Node], executor: Recorder) -> None:
    await nodes[0].engine.stop()
    await nodes[0].engine.stop()
    assert await dispatch(nodes[0], "job_a") is None
    assert executor.ran == []


# --- several nodes --------------------------------------------------------------------------------
async def _start(pair: list[Node]) -> list[Recorder]:
    workers = [Recorder(), Recorder()]
    for node, executor in zip(pair, workers, strict=True):
        await node.engine.start(executor)
    return workers


async def test_a_job_waits_for_the_first_worker_to_come(pair: list[Node]) -> None:
    placing, working = pair
    await placing.engine.start(None)
    await dispatch(placing, "job_a")
    executor = Recorder()
    await working.engine.start(executor)
    await executor.until_ran("job_a")


async def test_a_job_goes_to_a_worker_that_lives_without_the_queue(
    pair: list[Node], scaled: Scaled
) -> None:
    placing, working = pair
    placing.engine.ask_for_workers(lambda: ["node_1"])
    await placing.engine.start(None)
    executor = Recorder()
    await working.engine.start(executor)
    assert await dispatch(placing, "job_a") is None
    await executor.until_ran("job_a")
    assert executor.ran == [("job_a", None)]
    assert _left(scaled) == 0
    await working.engine.stop()
    await eventually_async(lambda: placing.engine.workers() == [])  # type: ignore[attr-defined]
    await dispatch(placing, "job_b")
    await eventually_async(lambda: _left(scaled) > 0)  # until a worker comes


async def test_a_transaction_that_places_a_job_notifies_nobody(
    pair: list[Node], scaled: Scaled
) -> None:
    """The queue's triggers do: its rows come after the commit, many in a transaction."""
    jobs = [f"job_{n}" for n in range(20)]

    def place(tx: Tx) -> None:
        for job_id in jobs:
            pair[0].engine.dispatch(tx, job_id, 1)
        assert tx.one("SELECT pg_current_xact_id_if_assigned()") == (None,)

    await pair[0].db.write(place)
    await eventually_async(lambda: _left(scaled) >= len(jobs))
    with psycopg.connect(scaled.url) as connection:
        found = connection.execute("SELECT DISTINCT xmin::text FROM procrastinate_jobs").fetchall()
    assert len(found) < len(jobs)


async def test_one_node_gets_a_job_and_every_node_the_abort(pair: list[Node]) -> None:
    workers = await _start(pair)
    jobs = [f"job_{n}" for n in range(30)]
    await asyncio.gather(*(dispatch(pair[0], job_id) for job_id in jobs))
    await eventually_async(lambda: sum(len(executor.ran) for executor in workers) >= len(jobs))
    assert sorted(workers[0].jobs + workers[1].jobs) == sorted(jobs)
    await abort(pair[0], "job_0")
    for executor in workers:
        await executor.until_aborted("job_0")


async def test_nothing_is_left_behind(pair: list[Node], scaled: Scaled) -> None:
    placing, working = pair
    await placing.engine.start(None)
    jobs = [f"job_{n}" for n in range(10)]
    await asyncio.gather(*(dispatch(placing, job_id) for job_id in jobs))
    executor = Recorder()
    await working.engine.start(executor)
    await executor.until_ran(*jobs)
    await eventually_async(lambda: not _left(scaled))
    for node in pair:
        await node.engine.stop()
    with psycopg.connect(scaled.url) as connection:
        assert connection.execute("SELECT * FROM procrastinate_workers").fetchall() == []


def _left(scaled: Scaled) -> int:
    with psycopg.connect(scaled.url) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM procrastinate_jobs)"
            " + (SELECT count(*) FROM procrastinate_events)"
        ).fetchone()
    assert row is not None
    return int(row[0])


async def test_dispatch_goes_on_after_every_connection_was_lost(
    pair: list[Node], scaled: Scaled
) -> None:
    workers = await _start(pair)
    scaled.cut()
    for n in range(3):
        job_id = f"job_{n}"
        await dispatch(pair[0], job_id)
        await eventually_async(lambda: job_id in workers[0].jobs + workers[1].jobs)  # noqa: B023


async def test_a_lost_connection_while_placing_is_made_good(
    pair: list[Node], scaled: Scaled
) -> None:
    tries: list[int] = []

    def fn(tx: Tx) -> None:
        tries.append(1)
        if len(tries) == 1:
            tx.one("SELECT 1")
            scaled.cut("agentpost")
        pair[0].engine.dispatch(tx, "job_a", 1)
        tx.one("SELECT 1")  # meets the break: of a COMMIT that was sent, nobody would know

    await pair[0].db.write(fn)
    assert len(tries) == 2
    executor = Recorder()
    await pair[1].engine.start(executor)
    await executor.until_ran("job_a")
    assert executor.jobs == ["job_a"]


async def test_its_tables_may_be_made_by_many_at_once(scaled: Scaled) -> None:
    await asyncio.gather(*(asyncio.to_thread(procrastinate.upgrade, scaled.url) for _ in range(4)))
    assert _left(scaled) == 0


class Unheard:
    """Notices of a node to which nobody speaks."""

    def on(self, topic: str, listener: Callable[[str], None]) -> None: ...

    def on_reconnect(self, listener: Callable[[], None]) -> None: ...

    def post(self, topic: str, subject: str) -> None: ...

    def send(self, tx: Transaction, topic: str, subject: str) -> None: ...


async def test_an_end_while_it_connects_leaves_nothing_behind() -> None:
    """The pool's tasks take no cancellation: the end of the event loop would wait for them."""
    connected = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()  # until the client has gone
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        engine = procrastinate.ProcrastinateEngine(
            f"postgresql://nobody@127.0.0.1:{port}/none", "node", Unheard()
        )
        await engine.start(Recorder())
        await connected.wait()
        await engine.stop()
        left = [task for task in asyncio.all_tasks() if "pool-" in task.get_name()]
        for task in left:
            task.cancel()  # as the end of the loop does
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*left, return_exceptions=True)
