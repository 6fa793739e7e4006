"""The doctor: everything that is not final must have an owner or a deadline."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agentpost.db import doctor as rows
from agentpost.services.context import House


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
    found = await house.db.read(lambda tx: rows.neglected(tx, house.clock.now()))
    return [Finding(*row) for row in found]
