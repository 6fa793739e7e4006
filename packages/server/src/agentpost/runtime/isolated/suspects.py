"""Which run a process has died of.

What ran alone was it. Of several that ran together any may have been: each of them runs alone the
next time, until it has ended or has held out long enough, and a death counts only for one that was
alone, or that was seen holding the loop.
"""

from __future__ import annotations

from collections.abc import Iterable


class Suspects:
    """The runs that are to run alone, and how often in a row a process died of each. By the id of
    the turn or job: it is run again under another number."""

    def __init__(self) -> None:
        self._alone: set[str] = set()
        self._times: dict[str, int] = {}

    def is_suspect(self, owner: str) -> bool:
        """Whether it is to run alone."""
        return owner in self._alone

    def died(self, owners: Iterable[str], culprit: str | None = None) -> str | None:
        """A process died that ran these; the one whose doing it was, if it is known.

        Args:
            culprit: the one that was seen to be it.
        """
        running = set(owners)
        if culprit is None and len(running) == 1:
            (culprit,) = running
        if culprit is None:
            self._alone |= running
            return None
        self._alone.add(culprit)
        self._times[culprit] = self._times.get(culprit, 0) + 1
        return culprit

    def times(self, owner: str) -> int:
        """How often in a row a process died of it."""
        return self._times.get(owner, 0)

    def acquit(self, owner: str) -> None:
        """It held out long enough alone: it may run beside others."""
        self._alone.discard(owner)

    def forget(self, owner: str) -> None:
        """It has ended."""
        self._alone.discard(owner)
        self._times.pop(owner, None)
