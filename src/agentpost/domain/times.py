"""Times are integers: microseconds since 1970 UTC. Durations in settings are seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

SECOND = 1_000_000


def seconds(value: float) -> int:
    """A duration in seconds as microseconds."""
    return round(value * SECOND)


@lru_cache(maxsize=4096)
def _whole(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def iso(at: int) -> str:
    """UTC ISO 8601 with microseconds and a trailing Z (spec: What the service does 6)."""
    whole, micro = divmod(at, SECOND)
    return f"{_whole(whole)}.{micro:06d}Z"
