"""A run's turn or job as the record knows it (see `runtime.journal.Owner`)."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.context import AppContext
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.rules import PROCESS_DIED_FAILURE
from agentpost.nodes import poison_rules
from agentpost.nodes.ownership import confirm_job, confirm_turn
from agentpost.record.tickets import TurnTicket


@dataclass(frozen=True, slots=True)
class JobOwner:
    """Of a job."""

    ctx: AppContext
    claim: JobClaim

    def is_certain(self, confirmed_at: float) -> bool:
        """See `Owner.is_certain`."""
        return self.ctx.lease.holds(confirmed_at)

    async def confirm(self) -> float:
        """See `Owner.confirm`."""
        return await confirm_job(self.ctx, self.claim)

    async def note_interruption(self, reason: str, times: int) -> bool:
        """See `Owner.interrupted`. Counted in the record, so over restarts as well."""
        return await jobs.note_interruption(self.ctx, self.claim, reason)

    async def process_died(self, reason: str, times: int) -> bool:
        """See `Owner.process_died`. Counted in the record, like `note_interruption`."""
        return await jobs.note_interruption(self.ctx, self.claim, reason, PROCESS_DIED_FAILURE)

    async def tell_waiting(self, text: str) -> None:
        """See `Owner.tell_waiting`: as progress of the job."""
        await jobs.progress(self.ctx, self.claim, None, text)

    async def code_fits(self) -> None:
        """See `Owner.code_fits`."""
        await jobs.code_fits(self.ctx, self.claim)

    async def charge_owed(self, n: int) -> None:
        """See `Owner.charge_owed`."""
        await jobs.charge_owed(self.ctx, self.claim, n)


@dataclass(frozen=True, slots=True)
class TurnOwner:
    """Of a turn, which is short: what is counted is this run's."""

    ctx: AppContext
    ticket: TurnTicket

    def is_certain(self, confirmed_at: float) -> bool:
        """See `Owner.is_certain`."""
        return self.ctx.lease.holds(confirmed_at)

    async def confirm(self) -> float:
        """See `Owner.confirm`."""
        return await confirm_turn(self.ctx, self.ticket)

    async def note_interruption(self, reason: str, times: int) -> bool:
        """See `Owner.interrupted`."""
        return not poison_rules.is_poison(times)

    async def process_died(self, reason: str, times: int) -> bool:
        """See `Owner.process_died`."""
        return not poison_rules.is_poison(times)

    async def tell_waiting(self, text: str) -> None:
        """See `Owner.tell_waiting`. The log has no entry for a turn that runs, which is short."""

    async def code_fits(self) -> None:
        """See `Owner.code_fits`. A turn does not wait for code."""

    async def charge_owed(self, n: int) -> None:
        """See `Owner.charge_owed`. A turn charges nothing."""
