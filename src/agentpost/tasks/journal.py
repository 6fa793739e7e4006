"""Numbering a run's calls and answering the recorded ones (design: 2; rule in `domain.journal`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from agentpost.agents import values
from agentpost.agents.base import FileSource
from agentpost.domain.journal import Call, CallState, Diverged, recorded


class StopCause(Enum):
    """Why a run must not go on."""

    DIVERGED = "diverged"
    PARKED = "parked"
    FENCED = "fenced"


class RunStopped(BaseException):
    """Ends the user's function; not an `Exception`, so ``except Exception`` lets it pass."""

    def __init__(self, cause: StopCause) -> None:
        super().__init__(cause.value)
        self.cause = cause


def is_cancelled(error: BaseException) -> bool:
    """Whether we are ending the run. A `CancelledError` of the user's own making, or an exit, is
    a failure like any other."""
    task = asyncio.current_task()
    asked = task is not None and task.cancelling() > 0
    return isinstance(error, asyncio.CancelledError | GeneratorExit) and asked


@dataclass(frozen=True, slots=True)
class Slot:
    """A numbered call: ``done`` is its record; ``held``: its cost is held from an earlier run."""

    n: int
    fingerprint: str
    done: Call | None
    held: bool

    def call(self, state: CallState, value: str = "null") -> Call:
        """The record to write for it."""
        return Call(self.n, self.fingerprint, state, value)


class Journal:
    """The calls of one run. Once stopped, every further call stops the run again."""

    def __init__(self, calls: dict[int, Call], source: FileSource) -> None:
        self._calls = calls
        self._source = source
        self._made = 0
        self.stopped: StopCause | None = None

    def next(self, name: str, *parts: object) -> Slot:
        """Number a call as it is made; raises `RunStopped` when the run went another way."""
        if self.stopped is not None:
            raise RunStopped(self.stopped)
        fingerprint = values.fingerprint(name, *parts)
        self._made += 1
        call = self._calls.get(self._made)
        try:
            done = recorded(call, fingerprint)
        except Diverged:
            self.stop(StopCause.DIVERGED)
        return Slot(self._made, fingerprint, done, held=call is not None and done is None)

    def stop(self, cause: StopCause) -> NoReturn:
        """Nothing this run does counts any more."""
        self.stopped = cause
        raise RunStopped(cause)

    def answer(self, call: Call) -> Any:
        """The recorded answer: returned, or raised when the body had raised."""
        value = values.load(call.value, self._source)
        if call.state is CallState.ERROR:
            raise values.rebuild_error(value)
        return value
