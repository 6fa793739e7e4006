"""The worker pool, with real processes: values out, errors out, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars
from structlog.testing import capture_logs

from agentpost.agents import File, JobFailed, StepFailed, values
from agentpost.agents.deaths import NoWorker, WorkerDied, WorkerKilled
from agentpost.agents.values import MissingFunction
from agentpost.processes import pool
from agentpost.processes.environment import Interpreter
from agentpost.processes.starting import Starter
from agentpost.processes.worker import WorkerProcess
from tests.processes.pools import ON_BOTH_LOOPS, MakeBench, anyio_backend, bench, steps
from tests.processes.watching import gone, pid_in
from tests.waiting import eventually_async

__all__ = ["anyio_backend", "bench", "steps"]


async def await_all(*calls: asyncio.Task[Any]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


@ON_BOTH_LOOPS
async def test_a_value_comes_back(bench: MakeBench) -> None:
    one = bench()
    await one.pool.start()
    assert await one.call("add", 1, 2.5) == {"sum": 3.5}
    assert await one.call("same", {"$file": [None, "ß\n"]}) == {"$file": [None, "ß\n"]}
    assert await one.call("key") == "key-1"
    named = await one.pool.call("some_steps:add", [1], {"b": 2}, account="acc", key="k")
    assert named == {"sum": 3}


async def test_a_file_is_readable_there_and_comes_back_without_its_path(
    bench: MakeBench, tmp_path: Path
) -> None:
    local = tmp_path / "data.csv"
    local.write_text("a,b\n1,2\n")
    file = File("file_1", "data.csv", "text/csv", "data", 8, '"r"', "work_1", local_path=local)
    one = bench()
    assert await one.call("first_line", file) == "a,b"
    back = await one.call("same", [file])
    assert back == [file]
    assert back[0].local_path is None


async def test_an_exception_is_raised_again_with_its_traceback_and_costs_no_worker(
    bench: MakeBench,
) -> None:
    one = bench()
    pid = await one.call("pid")
    with pytest.raises(LookupError, match="no city") as caught:
        await one.call("fail", "no city")
    assert "some_steps.py" in caught.value.__notes__[0]
    with pytest.raises(JobFailed, match="no such city"):
        await one.call("job_failed")
    with pytest.raises(StepFailed, match="1-2") as own:
        await one.call("own_error")
    assert "some_steps:OwnError" in values.class_names(own.value)
    with pytest.raises(StepFailed, match="enough"):
        await one.call("leave")
    with pytest.raises(MissingFunction, match="not_there"):
        await one.call("not_there")
    with pytest.raises(TypeError, match=r"set at \$\.rows"):
        await one.call("a_set")
    assert await one.call("pid") == pid


@ON_BOTH_LOOPS
async def test_cancelling_kills_that_worker_only(bench: MakeBench, tmp_path: Path) -> None:
    one = bench(3)
    stays, goes = one.begin("hang", f"{tmp_path}/stays"), one.begin("hang", f"{tmp_path}/goes")
    staying, going = await pid_in(tmp_path / "stays"), await pid_in(tmp_path / "goes")
    goes.cancel()
    with pytest.raises(asyncio.CancelledError):
        await goes
    await eventually_async(lambda: gone(going))
    assert not gone(staying)
    assert not stays.done()
    assert await one.call("pid") not in (staying, going)
    stays.cancel()
    await eventually_async(lambda: gone(staying))


@ON_BOTH_LOOPS
async def test_programs_a_function_started_go_with_it(bench: MakeBench, tmp_path: Path) -> None:
    one = bench()
    task = one.begin("hang_with_a_child", f"{tmp_path}/child")
    child = await pid_in(tmp_path / "child")
    task.cancel()
    await eventually_async(lambda: gone(child))


async def test_a_call_cancelled_while_it_waits_frees_its_place(
    bench: MakeBench, tmp_path: Path
) -> None:
    one = bench()
    busy = one.begin("hang", f"{tmp_path}/busy")
    pid = await pid_in(tmp_path / "busy")
    waiting, last = one.begin("pid"), one.begin("pid")
    await asyncio.sleep(0)
    waiting.cancel()
    busy.cancel()
    assert await last != pid
    assert waiting.cancelled()


@ON_BOTH_LOOPS
async def test_a_worker_is_replaced_after_its_calls(bench: MakeBench) -> None:
    one = bench(max_tasks=3)
    pids = [await one.call("pid") for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    await eventually_async(lambda: gone(pids[0]) and gone(pids[3]))


@ON_BOTH_LOOPS
async def test_an_idle_worker_ends(bench: MakeBench) -> None:
    one = bench(idle_seconds=0.05)
    pid = await one.call("pid")
    await eventually_async(lambda: gone(pid))
    assert await one.call("pid") != pid


@ON_BOTH_LOOPS
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("crash", "some_steps:crash did not finish: its process exited with code 3"),
        ("segfault", "ended by SIGSEGV"),
        ("die_with_a_fork_left", "exited with code 5"),
    ],
)
async def test_a_worker_that_dies_is_reported_and_replaced(
    bench: MakeBench, name: str, says: str
) -> None:
    one = bench()
    with pytest.raises(WorkerDied, match=says):
        await one.call(name)
    assert await one.call("same", 1) == 1


@ON_BOTH_LOOPS
async def test_a_worker_killed_while_idle_is_replaced(bench: MakeBench) -> None:
    one = bench()
    pid = await one.call("pid")
    os.kill(pid, signal.SIGKILL)
    await eventually_async(lambda: not list(one.scratch.iterdir()))
    assert await one.call("pid") != pid


@ON_BOTH_LOOPS
async def test_output_becomes_lines_of_the_log_and_disturbs_nothing(
    bench: MakeBench, capfd: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as logs, bound_contextvars(job_id="exe_1", call=2):
        assert await bench().call("pollute") == ""
    assert capfd.readouterr() == ("", "")
    about = {"event": "agent_output", "log_level": "info", "job_id": "exe_1", "call": 2}
    assert [line.pop("line") for line in logs] == ["printed text", "raw text", "child text"]
    assert logs == [{**about, "stream": "stdout"}] * 3


async def test_a_service_managers_signal_does_not_end_a_step(bench: MakeBench) -> None:
    one = bench()
    pid = await one.call("pid")
    os.kill(pid, signal.SIGTERM)
    assert await one.call("pid") == pid


async def test_a_file_is_built(bench: MakeBench, tmp_path: Path) -> None:
    one = bench()
    into, kept = tmp_path / "into", tmp_path / "kept"
    kept.write_bytes(b"kept")

    async def build(name: str, *args: Any) -> bytes:
        await one.pool.call(f"some_steps:{name}", list(args), account="a", key="k", into=into)
        return into.read_bytes()

    assert await build("as_bytes") == b"\0bytes"
    assert await build("as_text") == "tëxt\n".encode()
    assert await build("as_temporary") == b"made"
    assert await build("as_path", str(kept)) == b"kept"
    assert kept.exists()
    with pytest.raises(FileNotFoundError):
        await build("as_path", str(tmp_path / "nowhere"))
    with pytest.raises(TypeError, match="must return bytes, str or Path for a file, not int"):
        await build("pid")


@pytest.mark.parametrize("imports", [[], ["colorsys"]])
async def test_start_removes_what_a_killed_server_left_and_warms_a_worker_that_imports(
    bench: MakeBench, imports: list[str]
) -> None:
    one = bench(imports=imports)
    left = one.scratch / "worker-old" / "deep"
    left.mkdir(parents=True)
    await one.pool.start()
    assert not left.exists()
    assert len(list(one.scratch.iterdir())) == len(imports), "without imports there is none yet"


async def test_a_long_call_leaves_a_worker_ready_for_others(
    bench: MakeBench, tmp_path: Path
) -> None:
    one = bench(2)
    call = one.begin("hang", f"{tmp_path}/note")
    busy = await pid_in(tmp_path / "note")
    await eventually_async(lambda: len(list(one.scratch.iterdir())) == 2)
    ready = await one.call("pid", account="b")
    assert ready != busy
    assert len(list(one.scratch.iterdir())) == 2, "it was there before the call"
    await await_all(call)


async def test_there_is_no_worker_more_than_may_be_busy(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_SPARE_SECONDS", 0.0)
    one = bench(2)
    calls = [one.begin("hang", f"{tmp_path}/{n}", account=str(n)) for n in range(2)]
    for n in range(2):
        await pid_in(tmp_path / str(n))
    assert len(list(one.scratch.iterdir())) == 2
    await await_all(*calls)


async def test_a_worker_that_starts_is_counted_before_a_spare_one_is_started(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_SPARE_SECONDS", 0.0)
    one = bench(2)
    start, starts = Starter.start, 0

    async def start_second_late(
        self: Starter[WorkerProcess], interpreter: Interpreter
    ) -> WorkerProcess:
        nonlocal starts
        starts += 1
        if starts == 2:  # the first one has a call, whose spare is due
            await pid_in(tmp_path / "0")
        return await start(self, interpreter)

    monkeypatch.setattr(Starter, "start", start_second_late)
    calls = [one.begin("hang", f"{tmp_path}/{n}", account=str(n)) for n in range(2)]
    await pid_in(tmp_path / "1")
    assert starts == 2
    await await_all(*calls)


async def test_temporary_files_live_in_the_scratch_folder(bench: MakeBench) -> None:
    one = bench()
    kept = await one.call("keep")
    assert Path(kept).is_relative_to(one.scratch)
    # That they go with the worker is checked when the bench is put away.


@ON_BOTH_LOOPS
async def test_closing_ends_running_calls(bench: MakeBench, tmp_path: Path) -> None:
    one = bench()
    task = one.begin("hang", f"{tmp_path}/note")
    pid = await pid_in(tmp_path / "note")
    await one.pool.aclose()
    assert gone(pid)
    with pytest.raises(WorkerKilled):
        await task
    with pytest.raises(NoWorker, match="closed"):
        await one.call("pid")


@ON_BOTH_LOOPS
async def test_a_worker_killed_before_it_began_is_replaced_unseen(bench: MakeBench) -> None:
    """The pool does not know yet that its idle worker is gone when it asks it."""
    one = bench()
    for _ in range(3):
        pid = await one.call("pid")
        asked = one.begin("pid")
        os.kill(pid, signal.SIGKILL)
        assert await asked != pid


@ON_BOTH_LOOPS
async def test_a_worker_killed_during_a_call_is_told_apart_from_one_that_ended_itself(
    bench: MakeBench, tmp_path: Path
) -> None:
    one = bench()
    task = one.begin("hang", f"{tmp_path}/note")
    os.kill(await pid_in(tmp_path / "note"), signal.SIGKILL)
    with pytest.raises(WorkerKilled, match=r"killed from outside \(SIGKILL\)"):
        await task
    with pytest.raises(WorkerDied) as caught:
        await one.call("crash")
    assert not isinstance(caught.value, WorkerKilled)


async def test_a_call_that_may_not_begin_costs_no_worker(bench: MakeBench) -> None:
    one = bench()
    pid = await one.call("pid")

    async def refuse() -> None:
        raise LookupError("not any more")

    with pytest.raises(LookupError, match="not any more"):
        await one.pool.call("some_steps:crash", [], account="acc", key="k", ready=refuse)
    assert await one.call("pid") == pid
