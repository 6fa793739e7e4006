"""Stored records of server processes (see `domain.records`)."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.domain.records import Time


@dataclass(slots=True)
class NodeRecord:
    """A server process. What may be None is not said by nodes of 0.2 and before."""

    id: str
    started_at: Time
    beat: Time  # how often it has beaten
    beat_at: Time | None = None  # by its own clock
    draining_at: Time | None = None  # since when it takes no more work
    host: str | None = None
    pid: int | None = None
    role: str | None = None
    version: str | None = None
    held_calls: int | None = None  # at its last beat
    clock_ahead: Time | None = None  # of the database's clock; negative: behind
