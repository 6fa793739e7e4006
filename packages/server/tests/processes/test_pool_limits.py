"""Whom the worker pool serves, and how long, with real processes; who waits for a place; what a
worker gets of memory and environment."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agentpost.agents.deaths import LimitExceeded, NoWorker, WorkerDied
from agentpost.processes import capacity
from agentpost.processes.capacity import MIB
from agentpost.processes.environment import worker_environment
from agentpost.processes.slots import FairSemaphore
from tests.processes.pools import MakeBench, anyio_backend, bench, steps
from tests.processes.watching import gone, pid_in
from tests.waiting import PATIENCE, eventually_async

__all__ = ["anyio_backend", "bench", "steps"]


async def test_an_account_cannot_hold_all_workers(bench: MakeBench, tmp_path: Path) -> None:
    one = bench(2)
    calls = [one.begin("hang", f"{tmp_path}/{n}") for n in range(4)]
    await pid_in(tmp_path / "0")
    assert await one.call("same", 1, account="b") == 1
    assert not (tmp_path / "1").exists()
    assert not any(call.done() for call in calls)
    calls.pop(0).cancel()
    await pid_in(tmp_path / "1")  # with its own place free again, its queue goes on
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await one.call("same", 1) == 1


async def test_accounts_take_turns_on_a_single_worker(bench: MakeBench, tmp_path: Path) -> None:
    one = bench(1)
    first = one.begin("hang", f"{tmp_path}/first")
    await pid_in(tmp_path / "first")
    ended: list[str] = []
    later = [one.begin("same", f"a{n}") for n in range(3)]
    later.append(one.begin("same", "b0", account="b"))
    for task in later:
        task.add_done_callback(lambda t: ended.append(t.result()))
    await asyncio.sleep(0)  # they are in the queue
    first.cancel()
    await asyncio.gather(*later)
    assert ended == ["b0", "a0", "a1", "a2"]


async def test_a_timeout_begins_when_a_worker_has_the_call(
    bench: MakeBench, tmp_path: Path
) -> None:
    one = bench()
    busy = one.begin("until", f"{tmp_path}/busy")  # the import, of any length, is done then
    await pid_in(tmp_path / "busy")
    waiting = asyncio.create_task(
        one.pool.call("some_steps:hang", [f"{tmp_path}/late"], account="a", key="k", timeout=0.3)
    )
    done, _ = await asyncio.wait([waiting], timeout=0.5)  # longer than it may run
    assert not done
    (tmp_path / "busy.end").touch()
    assert await busy
    with pytest.raises(TimeoutError):
        await waiting


async def test_a_call_that_takes_too_long_ends(bench: MakeBench, tmp_path: Path) -> None:
    one = bench(seconds=0.3)
    # Imports; the same process has the next call.
    pid = await one.pool.call("some_steps:pid", [], account="a", key="k", timeout=PATIENCE)
    reported = r"some_steps:hang took longer than 0.3 s \(the setting step_seconds; "
    with pytest.raises(TimeoutError, match=reported):
        await one.call("hang", f"{tmp_path}/by-setting")
    await eventually_async(lambda: gone(pid))
    with pytest.raises(TimeoutError, match=r"hang took longer than 0.2 s$"):
        await one.pool.call(
            *("some_steps:hang", [f"{tmp_path}/by-call"]),
            account="a",
            key="k",
            into=tmp_path / "into",
            timeout=0.2,
        )
    await one.pool.call("some_steps:nap", [0.5], account="a", key="k", timeout=PATIENCE)


async def test_a_call_that_uses_too_much_cpu_time_ends(bench: MakeBench) -> None:
    # The system counts whole seconds: the process, which has begun with some, ends after one.
    one = bench(cpu_seconds=0.1)
    reported = (
        "some_steps:spin did not finish: it used more than 0.1 s of CPU time .*step_cpu_seconds"
    )
    await one.pool.call("some_steps:pid", [], account="a", key="k", cpu_seconds=PATIENCE)  # imports
    with capture_logs() as logs, pytest.raises(LimitExceeded, match=reported):
        await one.call("spin")
    assert any("in spin" in line.get("line", "") for line in logs), "the log says where it was"
    higher = bench(cpu_seconds=30)
    with pytest.raises(LimitExceeded, match=r"spin_in_c did not finish: it used more than 0\.1 s"):
        await higher.pool.call("some_steps:spin_in_c", [], account="a", key="k", cpu_seconds=0.1)


async def test_cpu_time_is_counted_for_each_call(bench: MakeBench) -> None:
    # The limit is rounded up to whole seconds: one that was never set anew would end after two.
    one = bench(cpu_seconds=1)
    # The import counts for the call that needs it.
    imported = await one.pool.call("some_steps:pid", [], account="a", key="k", cpu_seconds=PATIENCE)
    pids = {await one.call("spin_for", 0.4) for _ in range(6)}
    assert pids == {imported}, "together they used more than one call may"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a killer of processes")
async def test_workers_go_first_when_the_system_runs_out_of_memory(bench: MakeBench) -> None:
    assert await bench().call("read", "/proc/self/oom_score_adj") == "1000\n"


async def test_workers_yield_the_processor_to_the_server(bench: MakeBench) -> None:
    assert await bench().call("niceness") == min(os.nice(0) + 5, 19)  # it goes no further


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
async def test_a_worker_that_takes_too_much_memory_dies(bench: MakeBench) -> None:
    one = bench(memory_bytes=384 * 1024**2)
    assert await one.call("hoard", 1024**2) == 1024**2
    pid = await one.call("pid")
    reported = (
        r"ran out of memory \(the limit is 384 MiB\); the setting worker_memory_bytes raises it"
    )
    with pytest.raises(LimitExceeded, match=reported):
        await one.call("hoard", 512 * 1024**2)
    assert await one.call("pid") != pid
    unlimited = bench(memory_bytes=None)
    assert await unlimited.call("hoard", 512 * 1024**2) == 512 * 1024**2


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
@pytest.mark.parametrize("hoard", ["hoard", "hoard_otherwise"])
async def test_a_call_that_lacks_memory_where_others_left_little_has_a_fresh_process(
    bench: MakeBench, hoard: str
) -> None:
    one = bench(memory_bytes=384 * 1024**2)
    full = await one.call("leak", 120 * 1024**2)
    assert await one.call(hoard, 280 * 1024**2, account="b") == 280 * 1024**2
    assert await one.call("pid") != full
    with pytest.raises(Exception, match=r"ran out of memory|no-memory"):  # in the fresh one, too
        await one.call(hoard, 512 * 1024**2, account="b")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
async def test_a_worker_whose_memory_stays_high_is_replaced(bench: MakeBench) -> None:
    one = bench(memory_bytes=384 * 1024**2)
    pid = await one.call("leak", 50 * 1024**2)
    await one.call("hoard", 250 * 1024**2)  # given back
    assert await one.call("leak", 50 * 1024**2) == pid
    assert await one.call("leak", 100 * 1024**2) == pid, "it has half of its memory yet"
    assert await one.call("pid", account="b") != pid


@pytest.mark.parametrize("refused", range(3))
async def test_a_worker_that_cannot_be_started_leaves_nothing_behind(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    """Short of file descriptors: those that a worker was already given must come back."""
    one = bench()
    left = 0

    def refusing(real: Callable[[], Any]) -> Callable[[], Any]:
        def make() -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return real()

        return make

    with monkeypatch.context() as patch:
        left = refused  # a socket pair, then a pipe for each standard stream
        patch.setattr(socket, "socketpair", refusing(socket.socketpair))
        patch.setattr(os, "pipe", refusing(os.pipe))
        before = open_descriptors()
        with pytest.raises(NoWorker):
            await one.call("pid")
    assert not list(one.scratch.iterdir())
    assert open_descriptors() == before
    assert await one.call("pid")


def open_descriptors() -> int:
    gc.collect()
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("number", [signal.SIGRTMIN + 2, signal.SIGUSR1])
async def test_a_worker_may_end_by_any_signal(bench: MakeBench, number: int) -> None:
    with pytest.raises(WorkerDied, match="was ended by "):
        await bench().call("end_by", int(number))


async def test_a_waiter_cancelled_as_its_turn_comes_loses_no_place() -> None:
    slots = FairSemaphore(1)

    async def brief() -> str:
        async with slots.slot("a"):
            return "done"

    async with slots.slot("b"):
        before, next_one = (asyncio.create_task(brief()) for _ in range(2))
        await asyncio.sleep(0)
        before.cancel()  # it has not run since when the place comes free
    assert await next_one == "done"
    with pytest.raises(asyncio.CancelledError):
        await before


async def test_a_waiter_cancelled_with_the_place_in_hand_gives_it_back() -> None:
    slots = FairSemaphore(1)

    async def brief() -> None:
        async with slots.slot("a"):
            pass

    async with slots.slot("b"):
        task = asyncio.create_task(brief())
        await asyncio.sleep(0)
    task.cancel()  # it was given the place a moment ago and has not run since
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE), slots.slot("c"):
        pass


@pytest.mark.parametrize(
    ("name", "listed", "passes"),
    [
        ("PATH", [], True),
        ("LC_TIME", [], True),
        ("PYTHONPATH", [], True),
        ("AWS_SECRET_ACCESS_KEY", [], False),
        ("PGPASSWORD", [], False),
        ("HTTPS_PROXY", [], False),
        ("OPENAI_API_KEY", [], False),
        ("OPENAI_API_KEY", ["OPENAI_API_KEY"], True),
        ("OPENAI_API_KEY", ["OPENAI_*"], True),
        ("OPENAI_API_KEY", ["OPENAI_"], False),
        ("AWS_REGION", ["AWS_REGION"], True),
        ("AWS_SECRET_ACCESS_KEY", ["AWS_REGION"], False),
        ("lc_time", [], False),
        ("AGENTPOST_SECRET_KEY", [], False),
        ("AGENTPOST_SECRET_KEY", ["*"], False),
        ("AGENTPOST_SECRET_KEY", ["AGENTPOST_*"], False),
        ("AGENTPOST_AGENT", ["AGENTPOST_AGENT"], True),
    ],
)
def test_listed_variables_pass_and_no_others(name: str, listed: list[str], passes: bool) -> None:
    assert (name in worker_environment({name: "x"}, listed, threads=1)) is passes


def test_libraries_that_compute_share_the_processors_unless_told_otherwise() -> None:
    made = worker_environment({"OMP_NUM_THREADS": "7"}, threads=2)
    assert (made["OMP_NUM_THREADS"], made["OPENBLAS_NUM_THREADS"]) == ("7", "2")
    assert made["RAYON_NUM_THREADS"] == "2"


GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("processors", "workers"), [(1, 2), (2, 3), (4, 5), (7, 8), (8, 8), (64, 8)]
)
def test_workers(monkeypatch: pytest.MonkeyPatch, processors: int, workers: int) -> None:
    monkeypatch.setattr(capacity, "processors", lambda: processors)
    assert capacity.default_workers() == workers


@pytest.mark.parametrize(
    ("host", "each"),
    [(512 * MIB, 384 * MIB), (2 * GIB, 512 * MIB), (4 * GIB, GIB), (64 * GIB, GIB)],
)
def test_memory_of_a_worker(host: int, each: int) -> None:
    assert capacity.default_memory_bytes(host) == each


def test_a_container_may_have_less_memory_than_its_host(tmp_path: Path) -> None:
    host = capacity.memory_bytes(())
    limit = tmp_path / "memory.max"
    assert host > 0
    assert capacity.memory_bytes((limit,)) == host, "there is no such file"
    limit.write_text("max\n")
    assert capacity.memory_bytes((limit,)) == host
    limit.write_text("1048576\n")
    assert capacity.memory_bytes((limit,)) == MIB
