"""Times are integers: microseconds since 1970 UTC. Durations in settings are seconds."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@lru_cache(maxsize=1024)
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


def iso_or_none(at: int | None) -> str | None:
    """`iso` of a time that may not have come yet."""
    return None if at is None else iso(at)


def parse_iso(text: str) -> int:
    """A time written in ISO 8601 with its offset (or Z); raises `ValueError`."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is None:
        raise ValueError("the time has no offset")
    return round((read - _EPOCH) / timedelta(microseconds=1))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
