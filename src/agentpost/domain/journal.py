"""The rule of the journal: one recorded answer per numbered call (design: 2, Turns and jobs).

A run numbers its calls in the order in which they are made. On a re-run a recorded number returns
its recorded answer, provided it is the same call with the same arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CallState(StrEnum):
    """How far a call got."""

    HELD = "held"  # its cost is held, the body may have started
    DONE = "done"
    ERROR = "error"  # the body raised; a re-run raises the same again


class Diverged(Exception):
    """A re-run made another call, or with other arguments, than the one recorded."""


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call: its fingerprint names the method and its arguments."""

    n: int
    fingerprint: str
    state: CallState
    value: str


def recorded(call: Call | None, fingerprint: str) -> Call | None:
    """The record to answer from, or None when the body has to run; raises `Diverged`."""
    if call is None:
        return None
    if call.fingerprint != fingerprint:
        raise Diverged(f"call {call.n} is not the one recorded")
    return None if call.state is CallState.HELD else call
