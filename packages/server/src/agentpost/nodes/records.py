"""Stored records of server processes (see `record.records`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentpost.domain.times import seconds
from agentpost.record.records import Time

SILENT_SECONDS: Final = 3.0
"""Without a beat for so long, a node counts as silent."""


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

    def is_silent(self, now: int) -> bool:
        """Whether it has not beaten lately at ``now``, by the database's clock; False for one that
        does not say when it beats."""
        if self.beat_at is None:
            return False
        return now - (self.beat_at - (self.clock_ahead or 0)) > seconds(SILENT_SECONDS)
