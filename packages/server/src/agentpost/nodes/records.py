"""Stored records of server processes (see `record.records`)."""

from dataclasses import dataclass
from typing import Final

from agentpost.domain.times import seconds
from agentpost.record.records import Time

SILENT_SECONDS: Final = 3.0
"""Without a beat for so long, a node counts as silent."""


@dataclass(slots=True)
class NodeRecord:
    """A server process. It says its host, process and role after its first beat."""

    id: str
    started_at: Time
    beat: Time  # how often it has beaten
    beat_at: Time  # by its own clock
    draining_at: Time | None = None  # since when it takes no more work
    host: str | None = None
    pid: int | None = None
    role: str | None = None
    version: str | None = None
    held_calls: int | None = None  # at its last beat
    clock_ahead: Time | None = None  # of the database's clock; negative: behind

    def is_silent(self, now: int) -> bool:
        """Whether it has not beaten lately at ``now``, by the database's clock."""
        return now - (self.beat_at - (self.clock_ahead or 0)) > seconds(SILENT_SECONDS)
