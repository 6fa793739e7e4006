"""Helpers for tests that watch real processes come and go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import eventually_async


def gone(pid: int) -> bool:
    """Whether the process has ended; one that nobody has collected yet counts as ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return Path("/proc/self").exists()  # else: a system that tells no more


async def pid_in(note: Path) -> int:
    await eventually_async(note.exists)
    return number(note)


def number(note: Path) -> int:
    return int(note.read_text())


@contextmanager
def start(*args: str | Path, path: Path) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "PYTHONPATH": str(path)}
    argv = [sys.executable, *args]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
