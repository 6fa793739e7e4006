"""Compare once a second the rows this node owns with the runs of this process.

A run whose turn or job now belongs to another node is ended: the message that should have stopped
it may have been lost. A row that this node owns but does not run is reclaimed and replayed from its
journal: its run failed because of the server, or never started (design: Comparing rows and runs).

If two consecutive checks find a row this node owns but isn't running, it re-claims the row and
replays the journal; one check is not enough, because a run starts shortly after its commit. A run
behind a blocked agent loop is not missing: it is registered before it is claimed. A row that is
lost repeatedly needs more checks each time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf

import structlog

from agentpost.domain import backoff
from agentpost.runtime.job_runner import JobRunner
from agentpost.runtime.runs import Run, Runs
from agentpost.runtime.turn_runner import TurnRunner
from agentpost.services import missing_runs, turns
from agentpost.services.context import AppContext

log = structlog.get_logger(__name__)
RECONCILE_SECONDS = 1.0
_MISSES_MIN = 2
_MISSES_MAX = 64
_SKIPS_MAX = 60
"""At most this many checks in a row are skipped."""
_CALM_SECONDS = 300.0
"""A row that was not lost for this long needs the minimum of checks again."""


class RunReconciler:
    """See the module docstring; either runner may be missing in this process."""

    def __init__(
        self, ctx: AppContext, turn_runner: TurnRunner | None, job_runner: JobRunner | None
    ):
        self._ctx = ctx
        self._kinds: dict[str, _Kind] = {}
        if turn_runner is not None:
            self._kinds["turns"] = _Kind(
                turn_runner.runs, lambda owner: turns.reclaim(ctx, owner, ctx.node)
            )
        if job_runner is not None:

            async def reclaim(job_id: str) -> None:
                job_runner.reclaim(job_id, ctx.node)

            self._kinds["jobs"] = _Kind(job_runner.runs, reclaim)
        self._reported: list[str] = []
        self._last_clean: tuple[int | None, list[tuple[Run, int | None, bool]]] | None = None
        self._skipped = 0

    async def reconcile(self) -> None:
        """Check once. Nothing is read when neither the database nor the runs can have changed since
        a check without findings."""
        changes = self._ctx.db.changes
        runs = [(run, run.epoch, run.over) for k in self._kinds.values() for run in k.runs.open()]
        if (
            changes is not None
            and self._last_clean == (changes, runs)
            and self._skipped < _SKIPS_MAX
        ):
            self._skipped += 1
            return
        self._last_clean, self._skipped = None, 0
        # Before the record is read: what runs by then was committed, so the record must have it.
        running = {name: kind.running() for name, kind in self._kinds.items()}
        owned = await missing_runs.owned_here(self._ctx)
        missing: list[str] = []
        for name, kind in self._kinds.items():
            rows = owned[name]
            kind.end_orphans(running[name], rows)
            missing += await kind.find_missing(rows)
        if missing != self._reported:  # for the doctor, who sees only the record
            await missing_runs.report_missing(
                self._ctx, missing
            )  # may fail as all the rest does; told next time
            self._reported = missing
        if not any(kind.any_missing for kind in self._kinds.values()):
            self._last_clean = (changes, runs)


@dataclass(frozen=True, slots=True)
class _Reclaimed:
    times: int
    epoch: int
    at: float


class _Kind:
    """Turns, or jobs."""

    def __init__(self, runs: Runs, reclaim: Callable[[str], Awaitable[None]]) -> None:
        self.runs = runs
        self._reclaim = reclaim
        self._misses: dict[tuple[str, int], int] = {}
        self._reclaimed: dict[str, _Reclaimed] = {}

    @property
    def any_missing(self) -> bool:
        """Whether the last check found anything missing, even for the first time."""
        return bool(self._misses)

    def running(self) -> list[tuple[Run, int]]:
        """The current runs and their epochs, without those being claimed."""
        return [(run, run.epoch) for run in self.runs.open() if run.epoch is not None]

    def end_orphans(self, running: list[tuple[Run, int]], rows: dict[str, int]) -> None:
        """End runs at an epoch that this node no longer owns, including a run that is over but does
        not return, for example because the author's code swallowed the exception that parked it."""
        for run, epoch in running:
            if not run.cancelled and rows.get(run.owner) != epoch:
                log.info("run_not_owned", owner=run.owner, epoch=epoch)
                self.runs.end(run)

    async def find_missing(self, rows: dict[str, int]) -> list[str]:
        """Reclaim rows that were missing long enough; return everything that still does not run."""
        newest: dict[str, float] = {}
        for run in self.runs.open():
            if not run.over:  # what is being claimed, or was since the record was read, is newer
                epoch = inf if run.epoch is None else run.epoch
                newest[run.owner] = max(epoch, newest.get(run.owner, epoch))
        missing = {
            (owner, epoch): self._misses.get((owner, epoch), 0) + 1
            for owner, epoch in rows.items()
            if newest.get(owner, -1) < epoch
        }
        self._misses = missing
        self._reclaimed = {
            owner: self._reclaimed[owner] for owner in rows if owner in self._reclaimed
        }
        for (owner, at), misses in missing.items():
            if self.runs.closed:
                break  # this node drains: others run it
            if misses >= backoff.pause(self._times(owner, at), _MISSES_MIN, _MISSES_MAX):
                await self._run_again(owner, at)
        return sorted(owner for (owner, _), misses in missing.items() if misses >= _MISSES_MIN)

    def _times(self, owner: str, epoch: int) -> int:
        """How often it was run again lately, and lost again. A claim that failed counts not."""
        before = self._reclaimed.get(owner)
        if before is None or time.monotonic() - before.at > _CALM_SECONDS:
            return 0
        return before.times + (epoch != before.epoch)

    async def _run_again(self, owner: str, epoch: int) -> None:
        times = self._times(owner, epoch)
        log.warning("run_missing", owner=owner, epoch=epoch, times=times)
        self._reclaimed[owner] = _Reclaimed(times, epoch, time.monotonic())
        try:
            await self._reclaim(owner)
        except Exception as error:  # the next looks try again
            log.warning("run_not_reclaimed", owner=owner, error=repr(error))
