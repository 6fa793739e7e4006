"""Results of the last checks of this server's parts (`operations.health` and `files.scanning` make
the checks)."""

import threading
import time
from typing import Final

import structlog

log = structlog.get_logger(__name__)

DATABASE: Final = "database"
BLOBS: Final = "blobs"
REDIS: Final = "redis"
NOTICES: Final = "notices"
SCANNER: Final = "scanner"
CLOCK: Final = "clock"
SPACE: Final = "space"
STORAGE: Final = "storage"
CODE: Final = "code"
"""What turns and jobs wait for here."""
OPTIONAL: Final = frozenset({REDIS, NOTICES, SCANNER, CLOCK, SPACE})
"""Parts without which all else works, only slower or less exactly; without the scanner files are
refused, and messages without files are not; without space for files, work that writes one waits.
The clock is this machine's, where it is not the database's (`nodes.faults`)."""
PROBLEMS: Final = {
    DATABASE: "The database cannot be written to or read from.",
    BLOBS: "Files cannot be stored or read.",
    SCANNER: "Files cannot be scanned for malware.",
    SPACE: (
        "Files are not stored at the moment: less than free_space_min_bytes is free, the disk is"
        " full, or the storage refuses them. Work that writes a file waits and goes on when it can."
    ),
}


class Health:
    """The parts that fail now. Safe on any thread. ``free_bytes``: room left for files when it was
    last looked at; None where there is no limit, or nobody has looked yet."""

    def __init__(self) -> None:
        self.free_bytes: int | None = None
        self._failing: dict[str, float] = {}  # name -> since when, by the monotonic clock
        self._checked: dict[str, float] = {}  # name -> when last
        self._waiting: dict[str, tuple[str, str, str]] = {}  # key -> who waits, why, for what
        self._lock = threading.Lock()

    def failing(self) -> list[str]:
        """The parts this server cannot do its work without, and that fail."""
        return sorted(set(self._failing) - OPTIONAL)

    def failing_parts(self) -> list[str]:
        """The parts that fail and can be done without."""
        return sorted(set(self._failing) & OPTIONAL)

    def parts(self) -> dict[str, bool]:
        """Each part that has been checked: whether it works."""
        return {name: name not in self._failing for name in sorted(self._checked)}

    def problems(self) -> dict[str, str]:
        """What to tell of each part that fails, where there is more to tell than its name."""
        return {name: PROBLEMS[name] for name in sorted(self._failing) if name in PROBLEMS}

    def waiting(self, thing: str) -> dict[str, str]:
        """The turns and jobs of this process that wait for `STORAGE` or `CODE`, and why."""
        with self._lock:
            waits = list(self._waiting.values())
        return {owner: reason for owner, reason, cause in waits if cause == thing}

    def waits(self, key: str, owner: str, reason: str, thing: str) -> None:
        """A turn or job waits; ``key`` names the wait, of which an owner may have several."""
        with self._lock:
            self._waiting[key] = (owner, reason, thing)

    def waits_no_longer(self, key: str) -> None:
        """What it waits for is there, or its run has ended."""
        with self._lock:
            self._waiting.pop(key, None)

    def worked_within(self, name: str, seconds: float) -> bool:
        """Whether the last check of a part went well and is no older than that."""
        at = self._checked.get(name)
        return at is not None and name not in self._failing and time.monotonic() - at < seconds

    def note_failure(self, name: str, reason: str) -> None:
        """A check failed; logged once for as long as it lasts."""
        with self._lock:
            new = name not in self._failing
            self._checked[name] = time.monotonic()
            self._failing.setdefault(name, self._checked[name])
        if new:
            if name in OPTIONAL:
                log.warning("store_degraded", store=name, reason=reason)
            else:
                log.error("store_failing", store=name, reason=reason)

    def works(self, name: str) -> None:
        """A check went well."""
        with self._lock:
            self._checked[name] = time.monotonic()
            since = self._failing.pop(name, None)
        if since is not None:
            log.info(
                "store_recovered", store=name, failed_seconds=round(time.monotonic() - since, 1)
            )
