"""Compare once a second the rows this node owns with the runs of this process.

A run whose turn or job now belongs to another node is ended: the message that should have stopped
it may have been lost. A row that this node owns but does not run is reclaimed and replayed from its
journal: its run failed because of the server, or never started (design: Comparing rows and runs).

If two consecutive checks find a row this node owns but isn't running, it re-claims the row and
replays the journal; one check is not enough, because a run starts shortly after its commit. A run
behind a blocked agent loop is not missing: it is registered before it is claimed. A row that is
lost repeatedly needs more checks each time.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf

import structlog

from agentpost.context import AppContext
from agentpost.domain import backoff
from agentpost.nodes import ownership
from agentpost.nodes.quarantine import Quarantine
from agentpost.operations import health_state
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.runs import Run, Runs
from agentpost.turns import actions as turns

log = structlog.get_logger(__name__)
RECONCILE_SECONDS = 1.0
WAITS = "it waits to store a file, and goes on when that is possible:"
_MISSES_MIN = 2
_MISSES_MAX = 64
_SKIPS_MAX = 60
"""At most this many checks in a row are skipped."""
_CALM_SECONDS = 300.0
"""A row that was not lost for this long needs the minimum of checks again."""


class RunReconciler:
    """See the module docstring; either runner may be missing in this process."""

    def __init__(
        self,
        ctx: AppContext,
        turn_runner: TurnRunner | None,
        job_runner: JobRunner | None,
        quarantine: Quarantine,
    ):
        self._ctx = ctx
        self._kinds: dict[str, _Kind] = {}
        if turn_runner is not None:
            self._kinds["turns"] = _Kind(
                turn_runner.runs,
                lambda owner: turns.reclaim(ctx, owner, ctx.node),
                quarantine,
            )
        if job_runner is not None:

            async def reclaim(job_id: str) -> None:
                job_runner.reclaim(job_id, ctx.node)

            self._kinds["jobs"] = _Kind(job_runner.runs, reclaim, quarantine)
        self._reported: dict[str, str] = {}
        self._last_clean: tuple[int | None, list[object]] | None = None
        self._skipped = 0

    async def reconcile(self) -> None:
        """Check once. Nothing is read when neither the database nor the runs can have changed since
        a check without findings."""
        waiting = self._ctx.health.waiting(health_state.STORAGE)
        waiting_for_code = self._ctx.health.waiting(health_state.CODE)
        states = [kind.runs.state for kind in self._kinds.values()]
        now = (self._ctx.db.changes, [*states, waiting, waiting_for_code])
        if now[0] is not None and self._last_clean == now and self._skipped < _SKIPS_MAX:
            self._skipped += 1
            return
        self._last_clean, self._skipped = None, 0
        running = {name: kind.running for name, kind in self._kinds.items()}
        differences = await ownership.differences(self._ctx, running)
        missing: list[str] = []
        for name, kind in self._kinds.items():
            not_owned, not_run = differences[name].not_owned, differences[name].not_run
            kind.end_orphans(not_owned, not_run)
            missing += await kind.find_missing(not_run)
        texts = {owner: f"{WAITS} {reason}" for owner, reason in sorted(waiting.items())}
        problems = texts | waiting_for_code | dict.fromkeys(missing, ownership.NOT_RUN)
        if problems != self._reported:  # for the doctor, who sees only the record
            await ownership.report(self._ctx, problems)  # may fail; told next time
            self._reported = problems
        if not any(kind.misses for kind in self._kinds.values()):
            self._last_clean = now


@dataclass(frozen=True, slots=True)
class _Reclaimed:
    times: int
    epoch: int
    at: float


class _Kind:
    """Turns, or jobs."""

    def __init__(
        self, runs: Runs, reclaim: Callable[[str], Awaitable[None]], quarantine: Quarantine
    ) -> None:
        self.runs = runs
        self._quarantine = quarantine
        self._reclaim = reclaim
        self.misses: dict[tuple[str, int], int] = {}
        """By owner and epoch, how many checks in a row have found it missing."""
        self._reclaimed: dict[str, _Reclaimed] = {}
        self._leaving: list[tuple[Run, int]] = []

    def running(self) -> dict[str, int]:
        """The newest epoch of each owner that runs here, without what is being claimed or over."""
        runs = [(run, run.epoch, run.over) for run in self.runs.open()]  # they change meanwhile
        epochs: dict[str, int] = {}
        for run, epoch, is_over in runs:
            if epoch is not None and not is_over:
                epochs[run.owner] = max(epoch, epochs.get(run.owner, epoch))
        self._leaving = [
            (run, epoch)
            for run, epoch, is_over in runs
            if epoch is not None and (is_over or epoch < epochs.get(run.owner, -1))
        ]
        return epochs

    def end_orphans(self, not_owned: dict[str, int], not_run: dict[str, int]) -> None:
        """End runs at an epoch that this node no longer owns, including a run that is over but does
        not return, for example because the author's code swallowed the exception that parked it.
        Both are differences from what `running` returned last."""
        for run, epoch in self._leaving:
            if not_run.get(run.owner) != epoch:
                self._end_orphan(run, epoch)
        for owner, epoch in not_owned.items():
            for run in self.runs.of(owner):
                if run.epoch is not None and run.epoch <= epoch:
                    self._end_orphan(run, run.epoch)

    def _end_orphan(self, run: Run, epoch: int) -> None:
        if not run.cancelled:
            log.info("run_not_owned", owner=run.owner, epoch=epoch)
            self.runs.end(run)

    async def find_missing(self, rows: dict[str, int]) -> list[str]:
        """Reclaim rows without a run that were missing long enough; return everything that still
        does not run."""
        missing = {
            (owner, epoch): self.misses.get((owner, epoch), 0) + 1
            for owner, epoch in rows.items()
            if self._newest(owner) < epoch
        }
        self.misses = missing
        calm = time.monotonic() - _CALM_SECONDS
        self._reclaimed = {
            owner: before for owner, before in self._reclaimed.items() if before.at >= calm
        }
        for (owner, at), misses in missing.items():
            if self.runs.closed:
                break  # this node drains: others run it
            before = self._reclaimed.get(owner)
            # How often it was run again lately, and lost again. A claim that failed counts not.
            times = 0 if before is None else before.times + (at != before.epoch)
            due = misses >= backoff.pause(times, _MISSES_MIN, _MISSES_MAX)
            if due and self._quarantine.admit_again(owner):
                log.warning("run_missing", owner=owner, epoch=at, times=times)
                self._reclaimed[owner] = _Reclaimed(times, at, time.monotonic())
                try:
                    await self._reclaim(owner)
                except Exception as error:  # the next looks try again
                    log.warning("run_not_reclaimed", owner=owner, error=repr(error))
        return sorted(owner for (owner, _), misses in missing.items() if misses >= _MISSES_MIN)

    def _newest(self, owner: str) -> float:
        """The newest epoch at which it runs; what is being claimed, or was since the record was
        read, is newer than any row. -1: it does not run."""
        newest = -1.0
        for run in self.runs.of(owner):
            if not run.over:
                newest = max(newest, inf if run.epoch is None else run.epoch)
        return newest
