"""The rule of the journal: one recorded answer per numbered call (design: The journal).

A run numbers its calls in the order in which they are made. On a re-run a recorded number returns
its recorded answer, provided it is the same call with the same arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agentpost.domain.divergence import Divergence, compare


class CallState(StrEnum):
    """How far a call got."""

    HELD = "held"  # its cost is held, the body may have started
    DONE = "done"
    ERROR = "error"  # the body raised; a re-run raises the same again
    OWED = "owed"  # not a call: charges of the one numbered -n that found no credits yet


class Diverged(Exception):
    """A re-run made another call, or with other arguments, than the one recorded; ``how`` says
    what differs."""

    def __init__(self, how: Divergence) -> None:
        super().__init__(how.cause)
        self.how = how


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call: its fingerprint names the method and its arguments, its summary is the
    beginning of the text that the fingerprint was made of."""

    n: int
    fingerprint: str
    state: CallState
    value: str
    summary: str = ""


def recorded(call: Call | None, fingerprint: str, summary: str = "") -> Call | None:
    """The record to answer from, or None when the body has to run; raises `Diverged`."""
    if call is None:
        return None
    if call.fingerprint != fingerprint:
        raise Diverged(compare(call.n, call.summary, summary))
    return None if call.state is CallState.HELD else call
