"""The engine port: a job placed in a transaction is run once that is committed, and only then."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from agentpost.db.session import Tx
from tests.conformance.adapters import Node, Scaled
from tests.waiting import PATIENCE, eventually_async, eventually_awaited


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
@pytest.fixture
async def apart(pair: list[Node]) -> tuple[Node, Recorder]:
    """A node that only places, and what the worker on the other one is told."""
    pair[0].engine.ask_for_workers(lambda: ["node_1"])
    worker = Recorder()
    await pair[1].engine.start(worker)
    return pair[0], worker


async def test_a_job_goes_to_a_worker_that_lives(
    apart: tuple[Node, Recorder], pair: list[Node]
) -> None:
    placing, worker = apart
    await placing.engine.start(None)
    assert await dispatch(placing, "job_a") is None
    await worker.until_ran("job_a")
    assert worker.ran == [("job_a", None)]
    await pair[1].engine.stop()
    await eventually_async(lambda: placing.engine.workers() == [])  # type: ignore[attr-defined]


async def test_one_node_gets_a_job_and_every_node_the_abort(pair: list[Node]) -> None:
    workers = [Recorder(), Recorder()]
    for node, worker in zip(pair, workers, strict=True):
        await node.engine.start(worker)
    jobs = [f"job_{n}" for n in range(30)]
    await asyncio.gather(*(dispatch(pair[0], job_id) for job_id in jobs))
    await workers[0].until_ran(*jobs)
    assert (sorted(workers[0].jobs), workers[1].jobs) == (sorted(jobs), [])
    await abort(pair[0], "job_0")
    for worker in workers:
        await worker.until_aborted("job_0")


async def test_the_workers_that_live_take_turns(apart: tuple[Node, Recorder]) -> None:
    placing, worker = apart
    placing.engine.ask_for_workers(lambda: ["node_1", "node_2"])
    await asyncio.gather(*(dispatch(placing, f"job_{n}") for n in range(10)))
    await dispatch(placing, "job_a")
    await dispatch(placing, "job_b")
    await eventually_async(lambda: {"job_a", "job_b"} & set(worker.jobs))
    assert len(worker.jobs) == 6


async def test_a_transaction_that_places_a_job_changes_nothing(
    apart: tuple[Node, Recorder],
) -> None:
    """The commit of one that notifies takes a lock that all of the server's databases share."""
    placing, _ = apart

    def place(tx: Tx) -> None:
        placing.engine.dispatch(tx, "job_a", 1)
        placing.engine.abort(tx, "job_a")
        assert tx.one("SELECT pg_current_xact_id_if_assigned()") == (None,)

    await placing.db.write(place)


async def test_notices_go_on_after_every_connection_was_lost(
    apart: tuple[Node, Recorder], scaled: Scaled
) -> None:
    """A job whose notice was lost is the sweep's."""
    placing, worker = apart
    scaled.cut()

    async def has_arrived() -> bool:
        await dispatch(placing, "job_a")
        return "job_a" in worker.jobs

    await eventually_awaited(has_arrived)


async def test_a_lost_connection_while_placing_is_made_good(
    apart: tuple[Node, Recorder], scaled: Scaled
) -> None:
    placing, worker = apart
    tries: list[int] = []

    def fn(tx: Tx) -> None:
        tries.append(1)
        if len(tries) == 1:
            tx.one("SELECT 1")
            scaled.cut("agentpost")
        placing.engine.dispatch(tx, "job_a", 1)
        tx.one("SELECT 1")  # meets the break: of a COMMIT that was sent, nobody would know

    await placing.db.write(fn)
    assert len(tries) == 2
    await worker.until_ran("job_a")
    assert worker.jobs == ["job_a"]
