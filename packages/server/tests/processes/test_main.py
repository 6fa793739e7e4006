"""The worker process never outlives the server, however that ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes.watching import gone, pid_in, start
from tests.waiting import PATIENCE, eventually_async

STEPS = """
import os, time
from pathlib import Path

def hang(note, how):
    Path(note + ".new").write_text(str(os.getpid()))
    os.rename(note + ".new", note)
    if how == "sleep":
        time.sleep(600)
    sum(range(10**13))  # holds the interpreter: no other thread of the process gets a turn
"""

SERVER = """
import asyncio, sys
from pathlib import Path
from agentpost.processes.pool import WorkerPool

async def main(folder, hows):
    pool = WorkerPool(4, scratch=Path(folder, "scratch"), seconds=60, cpu_seconds=60)
    await asyncio.gather(*(
        pool.call("some_steps:hang", [f"{folder}/{n}", how], account="a", key="k")
        for n, how in enumerate(hows)
    ))

asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""


async def test_workers_die_with_a_killed_server(tmp_path: Path) -> None:
    (tmp_path / "some_steps.py").write_text(STEPS)
    # The second one never lets a thread of its own look for the parent: only the kernel can help.
    hows = ["sleep", "spin"] if sys.platform == "linux" else ["sleep"]
    with start("-c", SERVER, tmp_path, *hows, path=tmp_path) as server:
        pids = [await pid_in(tmp_path / str(n)) for n in range(len(hows))]
        assert not any(gone(pid) for pid in pids)
        server.kill()
    await eventually_async(lambda: all(gone(pid) for pid in pids))


WITHOUT_THE_KERNEL = """
import os, subprocess, sys, time
if sys.argv[1] == "parent":
    child = [sys.executable, __file__, "child", str(os.getpid())]
    subprocess.Popen(child, start_new_session=True)
else:
    sys.platform = "another"
    from agentpost.author import confinement
    confinement.die_with(int(sys.argv[2]))
    print(os.getpid(), flush=True)
time.sleep(30)
"""


async def test_a_worker_sees_by_itself_that_its_parent_is_gone(tmp_path: Path) -> None:
    script = tmp_path / "family.py"
    script.write_text(WITHOUT_THE_KERNEL)
    with start(script, "parent", path=tmp_path) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not gone(child)
        parent.kill()
    await eventually_async(lambda: gone(child))


def test_a_worker_without_its_parent_does_not_begin() -> None:
    orphan = [sys.executable, "-m", "agentpost.author.worker_process", "1"]
    done = subprocess.run(orphan, stdin=subprocess.DEVNULL, check=False, timeout=PATIENCE)
    assert done.returncode == 1
