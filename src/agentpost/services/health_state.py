"""Results of the last checks of this server's parts (`services.health` makes the checks)."""

from __future__ import annotations

import time
from typing import Final

import structlog

log = structlog.get_logger(__name__)

DATABASE: Final = "database"
BLOBS: Final = "blobs"
ENGINE: Final = "engine"
REDIS: Final = "redis"
NOTICES: Final = "notices"
OPTIONAL: Final = frozenset({REDIS, NOTICES})
"""Parts without which everything works, only slower or less exactly."""
PROBLEMS: Final = {
    DATABASE: "The database cannot be written to or read from.",
    BLOBS: "Files cannot be stored or read.",
    ENGINE: "Jobs are not dispatched.",
}


class Health:
    """The parts that fail now. For one event loop.

    Attributes:
        free_bytes: room left for files when it was last looked at; None where there is no limit,
            or nobody has looked yet.
    """

    def __init__(self) -> None:
        self.free_bytes: int | None = None
        self._failing: dict[str, float] = {}  # name -> since when, by the monotonic clock
        self._checked: set[str] = set()

    def failing(self) -> list[str]:
        """The parts this server cannot do its work without, and that fail."""
        return sorted(self._failing.keys() - OPTIONAL)

    def degraded(self) -> list[str]:
        """The parts that fail and can be done without."""
        return sorted(self._failing.keys() & OPTIONAL)

    def parts(self) -> dict[str, bool]:
        """Each part that has been checked: whether it works."""
        return {name: name not in self._failing for name in sorted(self._checked)}

    def failed(self, name: str, reason: str) -> None:
        """A check failed; logged once for as long as it lasts."""
        self._checked.add(name)
        if name not in self._failing:
            self._failing[name] = time.monotonic()
            if name in OPTIONAL:
                log.warning("store_degraded", store=name, reason=reason)
            else:
                log.error("store_failing", store=name, reason=reason)

    def works(self, name: str) -> None:
        """A check went well."""
        self._checked.add(name)
        since = self._failing.pop(name, None)
        if since is not None:
            log.info(
                "store_recovered", store=name, failed_seconds=round(time.monotonic() - since, 1)
            )
