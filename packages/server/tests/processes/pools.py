"""A worker pool with real processes, and functions for it to run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentpost.processes.pool import WorkerPool
from tests.waiting import PATIENCE

STEPS = """
import ctypes, logging, os, subprocess, sys, tempfile, time
from pathlib import Path
from agentpost.agents import JobFailed, step_key

class OwnError(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}-{b}")

def add(a, b): return {"sum": a + b}
def pid(): return os.getpid()
def niceness(): return os.nice(0)
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
def hoard_otherwise(size):
    try:
        return hoard(size)
    except MemoryError as error:
        raise OwnError("no", "memory") from error

leaked = []
def leak(size):
    leaked.append(bytearray(size))
    return os.getpid()
def names(): return sorted(os.environ)
def keep(): return tempfile.mkstemp()[1]
def nap(seconds):
    time.sleep(seconds)
    return os.getpid()

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

def end_by(number): os.kill(os.getpid(), number)

def chatter(lines):
    for _ in range(lines):
        logging.info("chatter")
    logging.warning("what matters")

def printed(text):
    print(text)
    return os.getpid()

def hang(note):
    Path(note + ".new").write_text(str(os.getpid()))
    os.rename(note + ".new", note)
    time.sleep(600)

def until(note):
    Path(note + ".new").write_text(str(os.getpid()))
    os.rename(note + ".new", note)
    while not os.path.exists(note + ".end"):
        time.sleep(0.01)
    return os.getpid()

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


ON_BOTH_LOOPS = pytest.mark.parametrize(
    "anyio_backend", [False, True], ids=["asyncio", "uvloop"], indirect=True
)
"""The agent loop is uvloop where installed: for what a loop has a part in, the processes and pipes
that begin and end."""


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """uvloop; for a test that is `ON_BOTH_LOOPS` asyncio's, too."""
    return "asyncio", {"use_uvloop": getattr(request, "param", True)}


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


MakeBench = Callable[..., Bench]


@pytest.fixture
async def bench(steps: Path, tmp_path: Path) -> AsyncIterator[MakeBench]:
    made: list[Bench] = []

    def make(workers: int = 1, **options: Any) -> Bench:
        scratch = tmp_path / f"scratch{len(made)}"
        limits = {"seconds": 60.0, "cpu_seconds": 60.0, **options}
        made.append(Bench(WorkerPool(workers, scratch=scratch, **limits), scratch))
        return made[-1]

    yield make
    for one in made:
        await one.pool.aclose()
        assert not list(one.scratch.glob("*")), "a worker's temporary files must go with it"
