"""The doctor: everything that is not final must have an owner or a deadline."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agentpost.db import doctor as rows
from agentpost.db.session import Tx
from agentpost.services import lost
from agentpost.services.context import House

_MISSING = "its node lives, but nothing there runs it"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something open that nobody takes care of."""

    id: str
    state: str
    problem: str

    def as_dict(self) -> dict[str, str]:
        """For printing."""
        return asdict(self)


async def examine(house: House) -> list[Finding]:
    """Every open message and job without owner or deadline; there should be none."""

    def fn(tx: Tx) -> list[Finding]:
        neglected = [Finding(*row) for row in rows.neglected(tx, house.clock.now())]
        missing = [Finding(*row, _MISSING) for row in lost.still_missing(tx)]
        return [*neglected, *missing]

    return await house.db.read(fn)
