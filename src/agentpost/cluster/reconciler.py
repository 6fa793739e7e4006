"""What this node owns in the record, against what really runs here: one query a second.

Both ways. A run whose turn or job is not ours any more is ended: the word to stop it, or of its new
owner, may have been lost. And a turn or job that is ours but that nothing here runs is run again
from its journal: its run met a fault of ours, or never came to be (design: 2, ownership).

It is missing only when two looks in a row say so, since between a commit and the run that it starts
there is a moment. What waits behind a blocked agent loop is not missing: a run is known from before
it is claimed. One that keeps getting lost is looked at for longer each time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf

import structlog

from agentpost.domain import backoff
from agentpost.runtime.job_worker import JobWorker
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.runs import Run, Runs
from agentpost.services import missing_runs, turns
from agentpost.services.context import House

log = structlog.get_logger(__name__)
LOOK_SECONDS = 1.0
LOOKS_MIN = 2
LOOKS_MAX = 64
SKIPS_MAX = 60
"""So many looks in a row may be left out."""
CALM_SECONDS = 300.0
"""What was not lost again for so long is not looked at for longer."""


class Lookout:
    """See the module docstring; either runner may be missing in this process."""

    def __init__(self, house: House, turn_runner: TurnRunner | None, worker: JobWorker | None):
        self._house = house
        self._kinds: dict[str, _Kind] = {}
        if turn_runner is not None:
            self._kinds["turns"] = _Kind(
                turn_runner.runs, lambda owner: turns.retake(house, owner, house.node)
            )
        if worker is not None:

            async def retake(job_id: str) -> None:
                worker.retake(job_id, house.node)

            self._kinds["jobs"] = _Kind(worker.runs, retake)
        self._told: list[str] = []
        self._well: tuple[int | None, list[tuple[Run, int | None, bool]]] | None = None
        self._skipped = 0

    async def look(self) -> None:
        """Look once: at nothing, when neither the record nor what runs here can have changed since
        a look that found all well."""
        changes = self._house.db.changes
        runs = [(run, run.epoch, run.over) for k in self._kinds.values() for run in k.runs.open()]
        if changes is not None and self._well == (changes, runs) and self._skipped < SKIPS_MAX:
            self._skipped += 1
            return
        self._well, self._skipped = None, 0
        # Before the record is read: what runs by then was committed, so the record must have it.
        running = {name: kind.running() for name, kind in self._kinds.items()}
        owned = await missing_runs.owned_here(self._house)
        missing: list[str] = []
        for name, kind in self._kinds.items():
            rows = owned[name]
            kind.end_strays(running[name], rows)
            missing += await kind.look_for(rows)
        if missing != self._told:  # for the doctor, who sees only the record
            await missing_runs.tell(
                self._house, missing
            )  # may fail as all the rest does; told next time
            self._told = missing
        if not any(kind.looked_for for kind in self._kinds.values()):
            self._well = (changes, runs)


@dataclass(frozen=True, slots=True)
class _Retaken:
    times: int
    epoch: int
    at: float


class _Kind:
    """Turns, or jobs."""

    def __init__(self, runs: Runs, retake: Callable[[str], Awaitable[None]]) -> None:
        self.runs = runs
        self._retake = retake
        self._looks: dict[tuple[str, int], int] = {}
        self._retaken: dict[str, _Retaken] = {}

    @property
    def looked_for(self) -> bool:
        """Whether the last look missed anything, if only for the first time."""
        return bool(self._looks)

    def running(self) -> list[tuple[Run, int]]:
        """What runs now and at which epoch; without what is being claimed."""
        return [(run, run.epoch) for run in self.runs.open() if run.epoch is not None]

    def end_strays(self, running: list[tuple[Run, int]], rows: dict[str, int]) -> None:
        """End what ran at an epoch that is not ours any more: also one that is over and does not
        leave by itself, as when its author swallowed that it was parked."""
        for run, epoch in running:
            if not run.cancelled and rows.get(run.owner) != epoch:
                log.info("run_not_ours", owner=run.owner, epoch=epoch)
                self.runs.end(run)

    async def look_for(self, rows: dict[str, int]) -> list[str]:
        """Run again what is missing for long enough; everything that is not, or not yet."""
        newest: dict[str, float] = {}
        for run in self.runs.open():
            if not run.over:  # what is being claimed, or was since the record was read, is newer
                epoch = inf if run.epoch is None else run.epoch
                newest[run.owner] = max(epoch, newest.get(run.owner, epoch))
        missing = {
            (owner, epoch): self._looks.get((owner, epoch), 0) + 1
            for owner, epoch in rows.items()
            if newest.get(owner, -1) < epoch
        }
        self._looks = missing
        self._retaken = {owner: self._retaken[owner] for owner in rows if owner in self._retaken}
        for (owner, at), looks in missing.items():
            if looks >= backoff.pause(self._times(owner, at), LOOKS_MIN, LOOKS_MAX):
                await self._run_again(owner, at)
        return sorted(owner for (owner, _), looks in missing.items() if looks >= LOOKS_MIN)

    def _times(self, owner: str, epoch: int) -> int:
        """How often it was run again lately, and lost again. A claim that failed counts not."""
        before = self._retaken.get(owner)
        if before is None or time.monotonic() - before.at > CALM_SECONDS:
            return 0
        return before.times + (epoch != before.epoch)

    async def _run_again(self, owner: str, epoch: int) -> None:
        times = self._times(owner, epoch)
        log.warning("run_missing", owner=owner, epoch=epoch, times=times)
        self._retaken[owner] = _Retaken(times, epoch, time.monotonic())
        try:
            await self._retake(owner)
        except Exception as error:  # the next looks try again
            log.warning("run_not_retaken", owner=owner, error=repr(error))
