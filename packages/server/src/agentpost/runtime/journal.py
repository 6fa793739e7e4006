"""Numbering a run's calls and answering the recorded ones (design: The journal)."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import structlog

from agentpost.agents import File, values
from agentpost.agents.deaths import WorkerKilled
from agentpost.author.scope import Scope
from agentpost.context import AppContext
from agentpost.domain import backoff
from agentpost.domain.errors import Fenced
from agentpost.jobs.actions import OutOfCredits
from agentpost.jobs.rules import PROCESS_DIED_FAILURE, WORKER_KILLED_FAILURE
from agentpost.nodes import poison_rules
from agentpost.record.journal_rules import (
    Call,
    CallState,
    Divergence,
    find_recorded,
    left_out,
)
from agentpost.record.tickets import JobTicket, TurnTicket
from agentpost.runtime import traced
from agentpost.runtime.runs import Run

log = structlog.get_logger(__name__)
T = TypeVar("T")
AGAIN_SECONDS_FIRST = 0.2
AGAIN_SECONDS_MAX = 5.0
"""How long what a killed worker ran is left alone: what killed it may still be going on."""


class StopCause(Enum):
    """Why a run must not go on."""

    DIVERGED = "diverged"
    PARKED = "parked"
    FENCED = "fenced"
    CANCELLED = "cancelled"
    """Ended from outside (see `Run.over`): by a client, by a shutdown, or because another node owns
    it."""
    OUTPUT_INVALID = "output_invalid"
    """Its output did not fit what the caller asks for, once too often."""
    POISONED = "poisoned"
    """The processes that ran it ended too often in a row."""
    PROCESS_DIED = "process_died"
    """The process that ran its own code ended; it runs again from its journal."""
    FAULT = "fault"
    """Ours: the database, the storage or the worker pool did not serve it. Nothing is written as an
    end; `nodes.reconciler` finds that nobody runs it and runs it again from its journal."""


class RunStopped(BaseException):
    """Ends the user's function; not an `Exception`, so ``except Exception`` lets it pass."""

    def __init__(self, cause: StopCause) -> None:
        super().__init__(cause.value)
        self.cause = cause


def is_cancelled(error: BaseException) -> bool:
    """Whether we are ending the run. A `CancelledError` of the user's own making, or an exit, is
    a failure like any other."""
    task = asyncio.current_task()
    is_ending = task is not None and task.cancelling() > 0
    return isinstance(error, asyncio.CancelledError | GeneratorExit) and is_ending


async def _until_ended() -> NoReturn:
    """The run begins nothing more here, and `Runs.leave` ends it as soon as nothing is under way:
    its next owner does what comes now."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


@dataclass(frozen=True, slots=True)
class Slot:
    """A numbered call: ``answer`` is its record; ``is_held``: an earlier run holds its cost;
    ``owes``: charges of its body found no credits when it was recorded."""

    n: int
    fingerprint: str
    answer: Call | None
    is_held: bool
    summary: str = ""
    owes: bool = False

    def call(self, state: CallState, value: str = "null") -> Call:
        """The record to write for it."""
        return Call(self.n, self.fingerprint, state, value, self.summary)


class Journal(Scope, ABC):
    """The calls of one run. Once that is over, every further call stops it again: what an author
    does to clean up is in no other run, so a re-run would miss it in its record.

    Args:
        rebuild: makes the exception of a recorded error.
        has_waited: an earlier run made another call than the one recorded.
    """

    def __init__(
        self,
        ctx: AppContext,
        rebuild: Callable[[Mapping[str, str]], Exception],
        ticket: TurnTicket | JobTicket,
        run: Run,
        *,
        has_waited: bool = False,
    ) -> None:
        super().__init__()
        self.ctx = ctx
        self._rebuild = rebuild
        self.owner = run.owner
        """The id of its job or message."""
        self._calls = ticket.calls
        self._run = run
        self._confirmed = ticket.confirmed_at
        self._waited = has_waited
        self._kills: dict[str, int] = {}
        self.stopped: StopCause | None = None
        self.cause: str | None = None
        """Why it was stopped, for the operator, where that is more than the cause's name."""
        self.divergence: Divergence | None = None

    # --- how its files reach their bytes (`FileSource`) -------------------------------------------
    @abstractmethod
    async def path(self, file: File) -> Path:
        """A local copy of the file."""

    @abstractmethod
    async def text(self, file: File) -> str:
        """The file's text."""

    # --- its row, which may be another node's by now: all of this may raise `Fenced` --------------
    @abstractmethod
    def _confirm(self) -> Coroutine[Any, Any, float]:
        """Ask the record whose it is; the time at which it was ours (`nodes.ownership`)."""

    async def _count_interruption(self, reason: str, times: int, failure: str) -> bool:
        """A process that ran it, or a function of it, has ended, that often by now; False when that
        was too often. ``failure``: what a job says that fails of it. A turn is short: what counts
        is this run."""
        return not poison_rules.is_poison(times)

    async def _show_waiting(self, text: str) -> None:
        """Tell the client that it waits; of a turn, nobody is told."""

    async def _note_code_fits(self) -> None:
        """It waits for its code no longer."""

    async def _charge_owed(self, n: int) -> None:
        """Pay what the body of that recorded call charged, and found no credits for. Raises
        `OutOfCredits`."""

    # --- its calls --------------------------------------------------------------------------------
    def key_of(self, n: int) -> str:
        """The key of the step with that number, which is the same in each run."""
        return f"{self.owner}:{n}"

    @property
    def over(self) -> bool:
        """Whether the run was stopped or cancelled, even if its function ignored that."""
        return self._run.over or self.stopped is not None

    async def answer(
        self, slot: Slot, parts: Sequence[object], effect: Callable[[Slot], Awaitable[T]]
    ) -> T:
        """Answer a call that was numbered by `next`: from its record when there is one, else by
        ``effect``, which does its work and records it. ``parts``: the name of the call and its
        arguments."""
        if slot.answer is None:
            if self._run.leaving:
                await _until_ended()
            if self._waited and slot.n > max(self._calls, default=0):
                self._waited = False
                await self.guard(self._note_code_fits())
            with self._run.recording():
                answer = await traced.call(self.owner, slot.n, parts, effect(slot))
            self._run.has_got_further = True
            return answer
        if slot.owes:
            await self.guard(self._charge_owed(slot.n))
        replay: T = self.replay(slot.answer)
        return replay

    def next(self, name: str, *parts: object) -> Slot:
        """Number a call as it is made; raises `RunStopped` when the run is over or went another
        way, and `NotAllowedInStep` when the body of a step makes it."""
        self.go_on()
        self.refuse_in_body(name)
        fingerprint, summary = values.identify(name, *parts)
        n = self._run.calls = self._run.calls + 1
        call = self._calls.get(n)
        answer = find_recorded(call, fingerprint, summary)
        if isinstance(answer, Divergence):
            self._diverge(answer)
        is_held = call is not None and answer is None
        return Slot(n, fingerprint, answer, is_held, summary, owes=-n in self._calls)

    def note_return(self) -> None:
        """The run's function has returned; raises `RunStopped` when it left out recorded calls."""
        how = left_out(self._calls.values(), self._run.calls)
        if how is not None and not self.over:
            self._diverge(how)

    def _diverge(self, how: Divergence) -> NoReturn:
        self.divergence = how
        self.cause = how.cause
        self._run.diverge(how.cause)
        # For the author: which of the calls is not repeatable. No values: they are the user's.
        log.error(
            "run_diverged",
            owner=self.owner,
            call=how.n,
            recorded=how.recorded,
            made_now=how.current,
            differs=how.differs,
        )
        self.stop(StopCause.DIVERGED)

    def go_on(self) -> None:
        """Asked before anything that has an effect: raises `RunStopped` when the run is over. It
        may have ended since the call was made."""
        if self.over:
            raise RunStopped(self.stopped or StopCause.CANCELLED)

    async def ready(self) -> None:
        """Asked right before anything runs that has an effect outside: raises `RunStopped` when the
        run is over, or when somebody else may have taken it over and has. Does not return when the
        run is leaving.

        A process that stood still would otherwise go on where it was, with steps that another node
        has long recorded. Without such a gap nothing is asked.
        """
        self.go_on()
        if self._run.leaving:
            with self._run.idle():
                await _until_ended()
        if not self.ctx.lease.holds(self._confirmed):
            self._confirmed = await self.guard(self._confirm())
            self.go_on()

    async def on_killed_worker(self, error: WorkerKilled, key: str) -> None:
        """The worker that ran the body with this key was killed. Returns when it is to run again,
        raises when that has happened too often. Several that were killed at once count as one:
        only the call that was killed most often is counted on."""
        self.go_on()
        before = max(self._kills.values(), default=0)
        times = self._kills[key] = self._kills.get(key, 0) + 1
        log.warning("step_interrupted", owner=self.owner, key=key, times=times)
        if times > before:
            await self._note_interruption(str(error), times, WORKER_KILLED_FAILURE)
        await asyncio.sleep(backoff.pause(times - 1, AGAIN_SECONDS_FIRST, AGAIN_SECONDS_MAX))
        self.go_on()

    async def _note_interruption(self, reason: str, times: int, failure: str) -> None:
        """Count it; when it was once too often, the run ends."""
        if not await self.guard(self._count_interruption(reason, times, failure)):
            self.cause = reason
            self.stop(StopCause.POISONED)

    async def process_died(self, reason: str, times: int) -> NoReturn:
        """The process that ran the run's own code ended: the run ends here and begins again from
        its record, unless that was too often. ``times``: how often in a row it has ended for this
        run; 0 when that was another's doing."""
        self.go_on()
        log.warning("agent_process_lost", owner=self.owner, reason=reason, times=times)
        if times:
            await self._note_interruption(reason, times, PROCESS_DIED_FAILURE)
            await asyncio.sleep(backoff.pause(times - 1, AGAIN_SECONDS_FIRST, AGAIN_SECONDS_MAX))
        self._run.again = True
        self.stop(StopCause.PROCESS_DIED)

    async def tell_waiting(self, text: str) -> bool:
        """Tell the client that the run waits; False when the database does not take it now."""
        try:
            await self._show_waiting(text)
        except Fenced:
            self.stop(StopCause.FENCED)
        except Exception as error:
            log.warning("wait_not_told", owner=self.owner, error=repr(error))
            return False
        return True

    async def guard(
        self, effect: Coroutine[Any, Any, T], theirs: tuple[type[Exception], ...] = ()
    ) -> T:
        """Await the effect of a call. The run ends here when it is over or parked, when another
        node owns it, or when the server fails. ``theirs`` are errors that are the author's own and
        are raised."""
        if self.over:
            effect.close()
        self.go_on()
        try:
            return await effect
        except theirs:
            raise
        except Fenced:
            self.stop(StopCause.FENCED)
        except OutOfCredits:
            self.stop(StopCause.PARKED)
        except Exception as error:
            self.fault(error)

    def fault(self, error: Exception) -> NoReturn:
        """The server failed: end the run, so that the failure is not taken for the author's."""
        log.warning("run_interrupted", owner=self.owner, error=repr(error))
        self.stop(StopCause.FAULT)

    def stop(self, cause: StopCause) -> NoReturn:
        """End the run; later calls have no effect. The first cause is kept, later ones follow from
        it."""
        if self.stopped is None:
            log.info("run_stopped", owner=self.owner, cause=cause.value)
            self.stopped = cause
        self._run.give_up()
        raise RunStopped(self.stopped)

    def replay(self, call: Call) -> Any:
        """The recorded answer: returned, or raised when the body had raised."""
        value = values.load(call.value, self)
        if call.state is CallState.ERROR:
            raise self._rebuild(value)
        return value

    def idle(self) -> AbstractContextManager[None]:
        """Inside, a call waits for something that the next owner of the run can wait for as well:
        a run that is leaving is ended there."""
        return self._run.idle()
