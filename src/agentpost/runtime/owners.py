"""A run's turn or job as the record knows it (see `tasks.journal.Owner`)."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.domain.limits import POISON_RECOVERIES_MAX
from agentpost.services import jobs
from agentpost.services.context import House
from agentpost.services.jobs import Owned
from agentpost.services.ownership import confirm_job, confirm_turn
from agentpost.services.tickets import TurnTicket


@dataclass(frozen=True, slots=True)
class JobOwner:
    """Of a job."""

    house: House
    owned: Owned

    def is_certain(self, confirmed: float) -> bool:
        """See `Owner.is_certain`."""
        return self.house.lease.holds(confirmed)

    async def confirm(self) -> float:
        """See `Owner.confirm`."""
        return await confirm_job(self.house, self.owned)

    async def interrupted(self, reason: str, times: int) -> bool:
        """See `Owner.interrupted`. Counted in the record, so over restarts as well."""
        return await jobs.interrupted(self.house, self.owned, reason)


@dataclass(frozen=True, slots=True)
class TurnOwner:
    """Of a turn, which is short: what is counted is this run's."""

    house: House
    ticket: TurnTicket

    def is_certain(self, confirmed: float) -> bool:
        """See `Owner.is_certain`."""
        return self.house.lease.holds(confirmed)

    async def confirm(self) -> float:
        """See `Owner.confirm`."""
        return await confirm_turn(self.house, self.ticket)

    async def interrupted(self, reason: str, times: int) -> bool:
        """See `Owner.interrupted`."""
        return times <= POISON_RECOVERIES_MAX
