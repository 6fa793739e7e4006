"""A run's turn or job as the record knows it: asked whether it is still ours, told how it fares."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from agentpost.context import AppContext
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.nodes import poison_rules


@dataclass(slots=True)
class Owner:
    """A turn's, which is short: what is counted is this run's, and nobody is told. All of it may
    raise `Fenced`.

    Args:
        confirm: asks the record; the time at which it was ours (`nodes.ownership`).
    """

    ctx: AppContext
    confirm: Callable[[], Coroutine[Any, Any, float]]

    async def note_interruption(self, reason: str, times: int, failure: str) -> bool:
        """A process that ran it, or a function of it, has ended, that often by now; False when that
        was too often. ``failure``: what a job says that fails of it."""
        return not poison_rules.is_poison(times)

    async def tell_waiting(self, text: str) -> None:
        """Tell the client that it waits."""

    async def code_fits(self) -> None:
        """It waits for its code no longer."""

    async def charge_owed(self, n: int) -> None:
        """Pay what the body of that recorded call charged, and found no credits for. Raises
        `OutOfCredits`."""


@dataclass(slots=True)
class JobOwner(Owner):
    """Of a job. Interruptions are counted in its row, so over restarts as well."""

    claim: JobClaim

    async def note_interruption(self, reason: str, times: int, failure: str) -> bool:
        return await jobs.note_interruption(self.ctx, self.claim, reason, failure)

    async def tell_waiting(self, text: str) -> None:
        await jobs.progress(self.ctx, self.claim, None, text)

    async def code_fits(self) -> None:
        await jobs.code_fits(self.ctx, self.claim)

    async def charge_owed(self, n: int) -> None:
        await jobs.charge_owed(self.ctx, self.claim, n)
