"""The worker pool, with real processes: values out, errors out, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars
from structlog.testing import capture_logs

from agentpost.agents import File, JobFailed, StepFailed, values
from agentpost.agents.deaths import LimitExceeded, NoWorker, WorkerDied, WorkerKilled
from agentpost.agents.pool import WorkerPool
from agentpost.agents.values import MissingFunction
from tests.agents.processes import PATIENCE, gone, pid_in, until

STEPS = """
import ctypes, os, subprocess, sys, tempfile, time
from pathlib import Path
from agentpost.agents import JobFailed, step_key

class OwnError(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}-{b}")

def add(a, b): return {"sum": a + b}
def pid(): return os.getpid()
def key(): return step_key()
def first_line(file): return file.local.read_text().splitlines()[0]
def same(value): return value
def a_set(): return {"rows": {1}}
def fail(text): raise LookupError(text)
def job_failed(): raise JobFailed("no such city")
def own_error(): raise OwnError(1, 2)
def leave(): sys.exit("enough")
def crash(): os._exit(3)
def segfault(): ctypes.string_at(0)
def hoard(size): return len(bytearray(size))
def names(): return sorted(os.environ)
def keep(): return tempfile.mkstemp()[1]
def nap(seconds): time.sleep(seconds)
def read(path): return Path(path).read_text()
def spin():
    while True:
        pass
def spin_in_c(): sum(range(10**13))
def spin_for(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return os.getpid()

def pollute():
    print("printed text")
    os.write(1, b"raw text\\n")
    subprocess.run([sys.executable, "-c", "print('child text')"], check=True)
    return sys.stdin.read()

def hang(note):
    Path(note + ".new").write_text(str(os.getpid()))
    os.rename(note + ".new", note)
    time.sleep(600)

def hang_with_a_child(note):
    child = subprocess.Popen(["sleep", "600"])
    Path(note + ".new").write_text(str(child.pid))
    os.rename(note + ".new", note)
    child.wait()

def die_with_a_fork_left():
    if os.fork() == 0:
        time.sleep(600)
    os._exit(5)

def as_bytes(): return b"\\x00bytes"
def as_text(): return "tëxt\\n"
def as_path(path): return Path(path)
def as_temporary():
    made = Path(tempfile.mkdtemp()) / "made.bin"
    made.write_bytes(b"made")
    return made
"""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The agent loop is uvloop where installed, so the pool must work on either."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's module ``some_steps``, importable through the parent's path only."""
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "some_steps.py").write_text(STEPS)
    monkeypatch.syspath_prepend(folder)
    return folder


class Bench:
    """A pool and short words for using it."""

    def __init__(self, pool: WorkerPool, scratch: Path) -> None:
        self.pool = pool
        self.scratch = scratch

    async def call(self, name: str, *args: Any, account: str = "a") -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.pool.call(
                f"some_steps:{name}", list(args), account=account, key="key-1"
            )

    def begin(self, name: str, *args: Any, account: str = "a") -> asyncio.Task[Any]:
        return asyncio.create_task(self.call(name, *args, account=account))


@pytest.fixture
async def bench(steps: Path, tmp_path: Path) -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(workers: int = 1, **options: Any) -> Bench:
        scratch = tmp_path / f"scratch{len(made)}"
        made.append(Bench(WorkerPool(workers, scratch=scratch, **options), scratch))
        return made[-1]

    yield make
    for one in made:
        await one.pool.aclose()
        assert not list(one.scratch.glob("*")), "a worker's temporary files must go with it"


async def test_a_value_comes_back(bench: Callable[..., Bench]) -> None:
    one = bench()
    await one.pool.start()
    assert await one.call("add", 1, 2.5) == {"sum": 3.5}
    assert await one.call("same", {"$file": [None, "ß\n"]}) == {"$file": [None, "ß\n"]}
    assert await one.call("key") == "key-1"


async def test_a_file_is_readable_there_and_comes_back_without_its_path(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    local = tmp_path / "data.csv"
    local.write_text("a,b\n1,2\n")
    file = File("file_1", "data.csv", "text/csv", "data", 8, '"r"', "work_1", local_path=local)
    one = bench()
    assert await one.call("first_line", file) == "a,b"
    back = await one.call("same", [file])
    assert back == [file]
    assert back[0].local_path is None


async def test_an_exception_is_raised_again_with_its_traceback(
    bench: Callable[..., Bench],
) -> None:
    one = bench()
    with pytest.raises(LookupError, match="no city") as caught:
        await one.call("fail", "no city")
    assert "some_steps.py" in caught.value.__notes__[0]
    with pytest.raises(JobFailed, match="no such city"):
        await one.call("job_failed")
    with pytest.raises(StepFailed, match="1-2"):
        await one.call("own_error")
    with pytest.raises(StepFailed, match="enough"):
        await one.call("leave")
    with pytest.raises(MissingFunction, match="not_there"):
        await one.call("not_there")
    with pytest.raises(TypeError, match=r"set at \$\.rows"):
        await one.call("a_set")


async def test_an_exception_costs_no_worker(bench: Callable[..., Bench]) -> None:
    one = bench()
    pid = await one.call("pid")
    with pytest.raises(LookupError):
        await one.call("fail", "x")
    assert await one.call("pid") == pid


async def test_cancelling_kills_that_worker_only(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    one = bench(3)
    stays, goes = one.begin("hang", f"{tmp_path}/stays"), one.begin("hang", f"{tmp_path}/goes")
    staying, going = await pid_in(tmp_path / "stays"), await pid_in(tmp_path / "goes")
    goes.cancel()
    with pytest.raises(asyncio.CancelledError):
        await goes
    await until(lambda: gone(going), seconds=1)
    assert not gone(staying)
    assert not stays.done()
    assert await one.call("pid") not in (staying, going)
    stays.cancel()
    await until(lambda: gone(staying), seconds=1)


async def test_programs_a_function_started_go_with_it(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    one = bench()
    task = one.begin("hang_with_a_child", f"{tmp_path}/child")
    child = await pid_in(tmp_path / "child")
    task.cancel()
    await until(lambda: gone(child), seconds=1)


async def test_an_account_cannot_hold_all_workers(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
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


async def test_accounts_take_turns_on_a_single_worker(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
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
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    one = bench()
    busy = one.begin("hang", f"{tmp_path}/busy")
    await pid_in(tmp_path / "busy")
    waiting = asyncio.create_task(
        one.pool.call("some_steps:same", [1], account="a", key="k", timeout=1.0)
    )
    done, _ = await asyncio.wait([waiting], timeout=1.2)  # longer than it may run
    assert not done
    busy.cancel()
    assert await waiting == 1


async def test_a_call_that_takes_too_long_ends(bench: Callable[..., Bench], tmp_path: Path) -> None:
    one = bench(seconds=0.3)
    told = r"some_steps:hang took longer than 0.3 s \(the setting step_seconds; "
    with pytest.raises(TimeoutError, match=told):
        await one.call("hang", f"{tmp_path}/by-setting")
    pid = await pid_in(tmp_path / "by-setting")
    await until(lambda: gone(pid))
    with pytest.raises(TimeoutError, match=r"hang took longer than 0.2 s$"):
        await one.pool.build(
            *("some_steps:hang", [f"{tmp_path}/by-call"]),
            account="a",
            key="k",
            into=tmp_path / "into",
            timeout=0.2,
        )
    await one.pool.call("some_steps:nap", [0.5], account="a", key="k", timeout=PATIENCE)


async def test_a_call_that_uses_too_much_cpu_time_ends(
    bench: Callable[..., Bench], capfd: pytest.CaptureFixture[str]
) -> None:
    one = bench(cpu_seconds=1)
    told = "some_steps:spin did not finish: it used more than 1 s of CPU time .*step_cpu_seconds"
    with pytest.raises(LimitExceeded, match=told):
        await one.call("spin")
    assert "in spin" in capfd.readouterr().err, "the log says where it was"
    with pytest.raises(LimitExceeded, match=told.replace("spin", "spin_in_c")):
        await one.call("spin_in_c")
    higher = bench(cpu_seconds=30)
    with pytest.raises(LimitExceeded, match="more than 1 s"):
        await higher.pool.call("some_steps:spin", [], account="a", key="k", cpu_seconds=1)


async def test_cpu_time_is_counted_for_each_call(bench: Callable[..., Bench]) -> None:
    one = bench(cpu_seconds=2)
    pids = {await one.call("spin_for", 0.7) for _ in range(5)}
    assert len(pids) == 1, "together they used more than one call may"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a killer of processes")
async def test_workers_go_first_when_the_system_runs_out_of_memory(
    bench: Callable[..., Bench],
) -> None:
    assert await bench().call("read", "/proc/self/oom_score_adj") == "1000\n"


async def test_waiting_calls_are_served_in_order(bench: Callable[..., Bench]) -> None:
    one = bench()
    ended: list[int] = []
    tasks = [one.begin("same", n) for n in range(6)]
    for task in tasks:
        task.add_done_callback(lambda t: ended.append(t.result()))
    await asyncio.gather(*tasks)
    assert ended == list(range(6))


async def test_a_call_cancelled_while_it_waits_frees_its_place(
    bench: Callable[..., Bench], tmp_path: Path
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


async def test_a_worker_is_replaced_after_its_calls(bench: Callable[..., Bench]) -> None:
    one = bench(max_tasks=3)
    pids = [await one.call("pid") for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    await until(lambda: gone(pids[0]) and gone(pids[3]))


async def test_an_idle_worker_ends(bench: Callable[..., Bench]) -> None:
    one = bench(idle_seconds=0.05)
    pid = await one.call("pid")
    await until(lambda: gone(pid))
    assert await one.call("pid") != pid


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("crash", "some_steps:crash did not finish: its process exited with code 3"),
        ("segfault", "ended by SIGSEGV"),
        ("die_with_a_fork_left", "exited with code 5"),
    ],
)
async def test_a_worker_that_dies_is_told_and_replaced(
    bench: Callable[..., Bench], name: str, says: str
) -> None:
    one = bench()
    with pytest.raises(WorkerDied, match=says):
        await one.call(name)
    assert await one.call("same", 1) == 1


async def test_a_worker_killed_while_idle_is_replaced(bench: Callable[..., Bench]) -> None:
    one = bench()
    pid = await one.call("pid")
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not list(one.scratch.iterdir()))
    assert await one.call("pid") != pid


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
async def test_a_worker_that_takes_too_much_memory_dies(bench: Callable[..., Bench]) -> None:
    one = bench(memory_bytes=384 * 1024**2)
    assert await one.call("hoard", 1024**2) == 1024**2
    pid = await one.call("pid")
    told = r"ran out of memory \(the limit is 384 MiB\); the setting worker_memory_bytes raises it"
    with pytest.raises(LimitExceeded, match=told):
        await one.call("hoard", 512 * 1024**2)
    assert await one.call("pid") != pid
    unlimited = bench(memory_bytes=None)
    assert await unlimited.call("hoard", 512 * 1024**2) == 512 * 1024**2


async def test_output_becomes_lines_of_the_log_and_disturbs_nothing(
    bench: Callable[..., Bench], capfd: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as logs, bound_contextvars(job_id="exe_1", call=2):
        assert await bench().call("pollute") == ""
    assert capfd.readouterr() == ("", "")
    about = {"event": "agent_output", "log_level": "info", "job_id": "exe_1", "call": 2}
    assert [line.pop("line") for line in logs] == ["printed text", "raw text", "child text"]
    assert logs == [{**about, "stream": "stdout"}] * 3


async def test_a_worker_gets_what_is_listed_of_the_environment(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"AGENTPOST_SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "SOME_TOKEN"}
    for name in [*secrets, "WEATHER_KEY", "SHOP_A", "LC_TIME"]:
        monkeypatch.setenv(name, "x")
    names = set(await bench(env=["WEATHER_KEY", "SHOP_*"]).call("names"))
    assert not names & secrets
    assert {"WEATHER_KEY", "SHOP_A", "LC_TIME", "PATH", "TMPDIR"} <= names


async def test_a_service_managers_signal_does_not_end_a_step(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    one = bench()
    pid = await one.call("pid")
    os.kill(pid, signal.SIGTERM)
    assert await one.call("pid") == pid


async def test_a_file_is_built(bench: Callable[..., Bench], tmp_path: Path) -> None:
    one = bench()
    into, kept = tmp_path / "into", tmp_path / "kept"
    kept.write_bytes(b"kept")

    async def build(name: str, *args: Any) -> bytes:
        await one.pool.build(f"some_steps:{name}", list(args), account="a", key="k", into=into)
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


async def test_start_removes_what_a_killed_server_left(
    bench: Callable[..., Bench],
) -> None:
    one = bench()
    left = one.scratch / "worker-old" / "deep"
    left.mkdir(parents=True)
    await one.pool.start()
    assert not left.exists()
    assert len(list(one.scratch.iterdir())) == 1, "one worker is warm"


async def test_temporary_files_live_in_the_scratch_folder(bench: Callable[..., Bench]) -> None:
    one = bench()
    kept = await one.call("keep")
    assert Path(kept).is_relative_to(one.scratch)
    # That they go with the worker is checked when the bench is put away.


async def test_closing_ends_running_calls(bench: Callable[..., Bench], tmp_path: Path) -> None:
    one = bench()
    task = one.begin("hang", f"{tmp_path}/note")
    pid = await pid_in(tmp_path / "note")
    await one.pool.aclose()
    assert gone(pid)
    with pytest.raises(WorkerKilled):
        await task
    with pytest.raises(NoWorker, match="closed"):
        await one.call("pid")


async def test_a_worker_killed_before_it_began_is_replaced_unseen(
    bench: Callable[..., Bench],
) -> None:
    """The pool does not know yet that its idle worker is gone when it asks it."""
    one = bench()
    for _ in range(5):
        pid = await one.call("pid")
        asked = one.begin("pid")
        os.kill(pid, signal.SIGKILL)
        assert await asked != pid


async def test_a_worker_killed_during_a_call_is_told_apart_from_one_that_ended_itself(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    one = bench()
    task = one.begin("hang", f"{tmp_path}/note")
    os.kill(await pid_in(tmp_path / "note"), signal.SIGKILL)
    with pytest.raises(WorkerKilled, match=r"killed from outside \(SIGKILL\)"):
        await task
    with pytest.raises(WorkerDied) as caught:
        await one.call("crash")
    assert not isinstance(caught.value, WorkerKilled)


async def test_a_call_that_may_not_begin_costs_no_worker(bench: Callable[..., Bench]) -> None:
    one = bench()
    pid = await one.call("pid")

    async def refuse() -> None:
        raise LookupError("not any more")

    with pytest.raises(LookupError, match="not any more"):
        await one.pool.call("some_steps:crash", [], account="acc", key="k", ready=refuse)
    assert await one.call("pid") == pid


async def test_keyword_arguments_arrive(bench: Callable[..., Bench]) -> None:
    one = bench()
    made = await one.pool.call("some_steps:add", [1], {"b": 2}, account="acc", key="k")
    assert made == {"sum": 3}


async def test_an_error_says_what_it_was_in_the_worker(bench: Callable[..., Bench]) -> None:
    with pytest.raises(StepFailed) as caught:
        await bench().call("own_error")
    assert "some_steps:OwnError" in values.class_names(caught.value)
