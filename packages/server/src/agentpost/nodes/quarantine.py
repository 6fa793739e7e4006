"""Suspected work runs in this process one at a time (design: Work that ends its process).

The suspicion is in the record, which outlives the process; what of it runs here is known here.
"""

import time
from collections.abc import Callable

import structlog

from agentpost.nodes import poison_rules
from agentpost.nodes.poison_rules import Suspect
from agentpost.runtime.runs import Runs

log = structlog.get_logger(__name__)


class Quarantine:
    """What suspected work of this process has begun, and whether more of it may. Belongs to one
    event loop.

    Args:
        turns, jobs: what runs here; None: nothing of that kind.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        turns: Runs | None,
        jobs: Runs | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turns = turns
        self._jobs = jobs
        self._clock = clock
        self._begun: dict[str, tuple[int, float]] = {}
        """The deaths of each and when it began; with what has ended: there is no more of it than
        dead processes left."""

    def admit(self, owner: str, deaths: int) -> bool:
        """Whether the turn or job may begin here now; if so, it counts as begun. ``deaths``: its
        deaths in a row."""
        if not poison_rules.is_suspect(deaths) or poison_rules.is_poison(deaths):
            return True  # what is given up does not run
        now = self._clock()
        if owner in self._begun and self._begun[owner][0] == deaths and self._runs(owner):
            return True  # asked again before the claim was through
        others = [
            Suspect(before, now - at)
            for each, (before, at) in self._begun.items()
            if each != owner and self._runs(each)
        ]
        if not poison_rules.may_begin(deaths, others):
            return False
        log.warning("suspect_begins", owner=owner, deaths=deaths)
        self._begun[owner] = deaths, now
        return True

    def admit_again(self, owner: str) -> bool:
        """The same for what was lost here, which is suspected only if it was when it began."""
        return owner not in self._begun or self.admit(owner, self._begun[owner][0])

    def _runs(self, owner: str) -> bool:
        """Whether it runs here and is suspected still. A job that has recorded a call is not; a
        turn is, because all deaths of a turn are counted."""
        if self._turns is not None and self._turns.of(owner):
            return True
        runs = self._jobs.of(owner) if self._jobs is not None else []
        return bool(runs) and not any(run.has_got_further for run in runs)
