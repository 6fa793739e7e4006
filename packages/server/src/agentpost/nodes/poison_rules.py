"""When a turn or job is suspected of ending the process that runs it, and when it is given up
(design: Work that ends its process).

A death counts for everything that the process ran: the record cannot tell which of it was the
cause. Suspected work therefore runs apart from other suspected work, which then cannot die with it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DEATHS_MAX: Final = 6
"""So many deaths in a row end a turn or job as failed."""
_SUSPECT_DEATHS: Final = 2
ALONE_SECONDS: Final = 60.0
"""Work that has run for so long without other suspected work is probably not the cause."""
_ALONE_GROWTH: Final = 10
"""The same for each further death: a cause that takes longer to show is found by then."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Suspected work that a process runs: its deaths in a row, and for how long it has run."""

    deaths: int
    seconds: float


def deaths_in_a_row(before: int, *, has_got_further: bool) -> int:
    """The count with one more death; ``has_got_further``: a call was recorded since the last."""
    return 1 if has_got_further else before + 1


def is_suspect(deaths: int) -> bool:
    """Whether it may only run apart from other suspected work, after so many deaths in a row."""
    return deaths >= _SUSPECT_DEATHS


def is_poison(deaths: int) -> bool:
    """Whether it is given up after so many deaths in a row."""
    return deaths >= DEATHS_MAX


def may_begin(deaths: int, running: Iterable[Suspect]) -> bool:
    """Whether suspected work may begin in a process beside the suspected work that runs there.

    Work before its last chance waits until the others have ended, and runs alone to its end: it
    cannot fail for what another one did.
    """
    if _alone_seconds(deaths) == math.inf:
        return not any(True for _ in running)
    return all(each.seconds >= _alone_seconds(each.deaths) for each in running)


def _alone_seconds(deaths: int) -> float:
    if is_poison(deaths + 1):
        return math.inf
    return ALONE_SECONDS * math.pow(_ALONE_GROWTH, deaths - _SUSPECT_DEATHS)
