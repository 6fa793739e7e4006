"""CPU seconds and resident memory of a process with its children, from /proc or else from `ps`;
and how long it waited for a core."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree of processes has used: CPU in seconds, resident memory in bytes."""

    cpu: float
    rss: int


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    cpu: float
    rss: int


def tree_usage(pid: int) -> Usage:
    """Usage of ``pid`` and its descendants; `ProcessLookupError` when it is gone.

    Pages shared by parent and child count twice: the figure is never too low.
    """
    processes = _from_proc() if (PROC / "self" / "stat").exists() else _from_ps()
    if pid not in processes:
        raise ProcessLookupError(pid)
    tree = [pid]
    for member in tree:
        tree.extend(child for child, process in processes.items() if process.parent == member)
    return Usage(
        sum(processes[member].cpu for member in tree), sum(processes[member].rss for member in tree)
    )


def waited(pid: int) -> float:
    """Seconds in which threads of this process could have run and got no core, so far; 0 where the
    system does not say."""
    total = 0
    for thread in (PROC / str(pid) / "task").glob("*/schedstat"):
        try:
            total += int(thread.read_text().split()[1])  # time on a core, waiting for one, slices
        except OSError:  # it ended while we looked
            continue
    return total / 1e9


def _from_proc() -> dict[int, _Process]:
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found: dict[int, _Process] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:  # it ended while we looked
            continue
        # The name, in parentheses, may hold spaces. Fields then count from the state (no. 3):
        # parent, ..., user and system time, the same of waited-for children, ..., pages in memory.
        fields = stat.rpartition(")")[2].split()
        cpu = sum(int(fields[n]) for n in (11, 12, 13, 14)) / ticks
        found[int(entry.name)] = _Process(int(fields[1]), cpu, int(fields[21]) * page)
    return found


def _from_ps() -> dict[int, _Process]:
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,rss=,time="], check=True, capture_output=True, text=True
    ).stdout
    found: dict[int, _Process] = {}
    for line in listing.splitlines():
        pid, parent, kib, clock = line.split()
        found[int(pid)] = _Process(int(parent), _seconds(clock), int(kib) * 1024)
    return found


def _seconds(clock: str) -> float:
    """``[[days-]hours:]minutes:seconds`` in seconds."""
    days, _, rest = clock.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86_400 * int(days or 0)
