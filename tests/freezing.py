"""Processes that stand still, as under SIGSTOP or in a suspended machine."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.waiting import eventually


@contextmanager
def freeze(*pids: int) -> Iterator[None]:
    """Inside, none of these processes runs.

    The signal stops a process only once one of its threads has received it, which is scheduled
    like any other work; until then the others run on. So wait until all of them have stopped.
    """
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            eventually(partial(_stopped, pid), what=f"the stop of process {pid}")
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _stopped(pid: int) -> bool:
    return set(_states(pid)) == {"T"}


def _states(pid: int) -> list[str]:
    """The state of each thread of a process, one letter each."""
    tasks = Path(f"/proc/{pid}/task")
    if tasks.is_dir():
        # After the name, which is in brackets and may hold anything.
        stats = [(task / "stat").read_text() for task in tasks.iterdir()]
        return [stat.rpartition(")")[2].split()[0] for stat in stats]
    ps = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, check=True)
    return [line.strip()[:1] for line in ps.stdout.decode().splitlines()]
