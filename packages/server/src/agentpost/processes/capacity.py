"""How many worker processes, and how large each may grow, when the operator does not say."""

import os
from pathlib import Path
from typing import Final

MIB: Final = 1024**2
_WORKERS_MIN: Final = 2
_WORKERS_MAX: Final = 8
MEMORY_BYTES_MAX: Final = 1024 * MIB
MEMORY_BYTES_MIN: Final = 384 * MIB
"""The built-in agent needs up to 220 MiB for a long report, with the libraries it imports."""

_HOST_SHARE: Final = 4
_CGROUP_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def default_workers() -> int:
    """One for each processor and one that is kept free for another account."""
    return max(_WORKERS_MIN, min(processors() + 1, _WORKERS_MAX))


def processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_memory_bytes(host_bytes: int | None = None) -> int:
    """A quarter of the memory that there is, within bounds. ``host_bytes``: the memory of the host
    or container; looked up when not given."""
    if host_bytes is None:
        host_bytes = memory_bytes()
    return max(MEMORY_BYTES_MIN, min(host_bytes // _HOST_SHARE, MEMORY_BYTES_MAX))


def memory_bytes(cgroup_limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """The memory of the host, or of the container when that has less."""
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in cgroup_limits:
        try:
            size = min(size, int(limit.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return size
