"""Looks for what is due, spared while nothing can be: a server without work has next to none.

Where changes of the database can be seen (`Database.changes`), a look that found nothing, in a
database that has not changed since the look before, looks ahead as well. What it does not find
there cannot be due before that time either, unless something changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from agentpost.clock import Clock
from agentpost.db.session import Database, Tx
from agentpost.domain.times import seconds

T = TypeVar("T")
AHEAD_SECONDS = 30
"""How far a look sees ahead; settings that were read again count after that time at most."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A look, and until when nothing is due while the database has that many changes. Times in
    microseconds since 1970 UTC."""

    changes: int
    at: int
    until: int


class Resting:
    """The last look of each name. Each name belongs to one event loop."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._looks: dict[str, _Look] = {}

    async def due(self, name: str, find: Callable[[Tx, int], list[T]]) -> list[T]:
        """What is due now. ``find``: what is due at a time (microseconds since 1970 UTC), by
        nothing but the database; what is due at a time is so later, too, unless the database
        changes."""
        now, changes = self._clock.now(), self._db.changes
        if changes is None:
            return await self._db.read(lambda tx: find(tx, now))
        last = self._looks.get(name)
        calm = last is not None and last.changes == changes and last.at <= now
        if last is not None and calm and now < last.until:
            return []
        ahead = now + seconds(AHEAD_SECONDS)

        def look(tx: Tx) -> tuple[list[T], bool]:
            due = find(tx, now)
            return due, calm and not due and not find(tx, ahead)

        due, may_rest = await self._db.read(look)
        self._looks[name] = _Look(changes, now, ahead if may_rest else now)
        return due
