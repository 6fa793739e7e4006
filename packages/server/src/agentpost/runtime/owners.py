"""A run's turn or job as the record knows it: asked whether it is still ours, told how it fares and
how it ended."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from agentpost.context import AppContext
from agentpost.domain import backoff
from agentpost.domain.errors import Fenced
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.nodes import poison_rules


@dataclass(slots=True)
class Owner:
    """A turn's, which is short: what is counted is this run's, and nobody is told. All of it may
    raise `Fenced`. ``confirm``: asks the record; the time at which it was ours
    (`nodes.ownership`)."""

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


log = structlog.get_logger(__name__)
RETRY_SECONDS_FIRST = 0.2
_RETRY_SECONDS_MAX = 10.0


async def retry_until_recorded(write: Callable[[], Awaitable[None]], owner: str) -> None:
    """Retry until the end is recorded: only this process has the result. Raises `Fenced` when
    another node owns the turn or job; that is also how a second try learns that the first one went
    through after all."""
    tries = 0
    while True:
        try:
            await write()
            return
        except Fenced:
            raise
        except Exception as error:
            log.warning("result_not_recorded", owner=owner, tries=tries + 1, error=str(error))
        await asyncio.sleep(backoff.pause(tries, RETRY_SECONDS_FIRST, _RETRY_SECONDS_MAX))
        tries += 1
