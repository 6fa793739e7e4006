"""Numbering a run's calls and answering the recorded ones (design: 2; rule in `domain.journal`)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import structlog

from agentpost.agents import File, values
from agentpost.domain.errors import Fenced
from agentpost.domain.journal import Call, CallState, Diverged, recorded
from agentpost.services.jobs import OutOfCredits
from agentpost.tasks.runs import Run
from agentpost.tasks.steps import HINDRANCES, Blobs

log = structlog.get_logger(__name__)
T = TypeVar("T")


class StopCause(Enum):
    """Why a run must not go on."""

    DIVERGED = "diverged"
    PARKED = "parked"
    FENCED = "fenced"
    CANCELLED = "cancelled"
    """Ended from outside (see `Run.over`): by a client, a shutdown, or because it is not ours."""
    FAULT = "fault"
    """Ours: the database, the storage or the worker pool did not serve it. Nothing is written as an
    end; `tasks.lookout` finds that nobody runs it and runs it again from its journal."""


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
    """The calls of one run. Once that is over, every further call stops it again: what an author
    does to clean up is in no other run, so a re-run would miss it in its record.

    It is also how the run's files reach their bytes (`FileSource`).
    """

    def __init__(self, calls: dict[int, Call], blobs: Blobs, run: Run) -> None:
        self._calls = calls
        self._blobs = blobs
        self._run = run
        self._made = 0
        self.stopped: StopCause | None = None

    @property
    def over(self) -> bool:
        """Whether the run was stopped or cancelled, whatever its function made of that."""
        return self._run.over

    def next(self, name: str, *parts: object) -> Slot:
        """Number a call as it is made; raises `RunStopped` when the run is over or went another
        way."""
        self.go_on()
        fingerprint = values.fingerprint(name, *parts)
        self._made += 1
        call = self._calls.get(self._made)
        try:
            done = recorded(call, fingerprint)
        except Diverged:
            # For the author: which of the calls is not repeatable.
            log.error("run_diverged", owner=self._run.owner, call=self._made, made_now=name)
            self.stop(StopCause.DIVERGED)
        return Slot(self._made, fingerprint, done, held=call is not None and done is None)

    def go_on(self) -> None:
        """Asked before anything that has an effect: raises `RunStopped` when the run is over. It
        may have ended since the call was made."""
        if self.over:
            raise RunStopped(self.stopped or StopCause.CANCELLED)

    async def served(
        self, serving: Coroutine[Any, Any, T], theirs: tuple[type[Exception], ...] = ()
    ) -> T:
        """What our side answers to a call; the run ends here when it is over, parked, not ours any
        more, or when our side fails. ``theirs`` are errors that are the author's own and are
        raised."""
        if self.over:
            serving.close()
        self.go_on()
        try:
            return await serving
        except theirs:
            raise
        except Fenced:
            self.stop(StopCause.FENCED)
        except OutOfCredits:
            self.stop(StopCause.PARKED)
        except Exception as error:
            self.fault(error)

    def fault(self, error: Exception) -> NoReturn:
        """Something of ours failed: nothing of it may look like the author's failure."""
        log.warning("run_interrupted", owner=self._run.owner, error=repr(error))
        self.stop(StopCause.FAULT)

    def stop(self, cause: StopCause) -> NoReturn:
        """Nothing this run does counts any more. The first cause counts: the others follow."""
        if self.stopped is None:
            log.info("run_stopped", owner=self._run.owner, cause=cause.value)
            self.stopped = cause
        self._run.over = True
        raise RunStopped(self.stopped)

    def answer(self, call: Call) -> Any:
        """The recorded answer: returned, or raised when the body had raised."""
        value = values.load(call.value, self)
        if call.state is CallState.ERROR:
            raise values.rebuild_error(value)
        return value

    async def path(self, file: File) -> Path:
        """See `FileSource.path`."""
        try:
            return await self._blobs.path(file)
        except HINDRANCES as error:
            self.fault(error)

    async def text(self, file: File) -> str:
        """See `FileSource.text`."""
        try:
            return await self._blobs.text(file)
        except HINDRANCES as error:
            self.fault(error)
