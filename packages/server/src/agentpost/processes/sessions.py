"""How much of the processors a worker's session gets (Linux, where the kernel shares them among
sessions first: "autogroup").

There the niceness of a process counts only within its session, and each worker has one of its own.
Unlike the niceness of a process, that of a session may be lowered again without privileges.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

YIELDING: Final = 10
"""The niceness of a session that yields: it gets a tenth of what another one does."""
_AGAIN_SECONDS: Final = 0.15
"""The kernel lets ten sessions a second be changed, in the whole system."""


class Session:
    """The session of a process. Belongs to an event loop.

    Args:
        pid: the process that leads the session.
        alive: whether there is such a process still.
    """

    def __init__(self, pid: int, alive: Callable[[], bool]) -> None:
        self._path = Path(f"/proc/{pid}/autogroup")
        self._alive = alive
        self._niceness = self._wanted = 0
        self._again: asyncio.TimerHandle | None = None

    def yield_processors(self, yields: bool) -> None:
        """Take what others leave, or an equal share again. Does nothing where the kernel does not
        share the processors so."""
        self._wanted = YIELDING if yields else 0
        if self._again is None:
            self._settle()

    def _settle(self) -> None:
        self._again = None
        if self._wanted == self._niceness or not self._alive():
            return
        try:
            self._path.write_text(str(self._wanted))
        except BlockingIOError:
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(_AGAIN_SECONDS, self._settle)
            return
        except OSError:  # no such kernel
            pass
        self._niceness = self._wanted
