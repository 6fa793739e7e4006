"""Making the calls of a run in the server: each takes effect once and is recorded."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentpost.agents import File, OutputInvalid, Said, StorageFull, values
from agentpost.author.objects import Request
from agentpost.author.scope import StepBody
from agentpost.blobs import actions as blobs
from agentpost.context import AppContext
from agentpost.domain.credits import Charge
from agentpost.record.history import agent_file
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.runtime import outputs
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.journal import Journal, Slot, StopCause
from agentpost.runtime.outputs import Place
from agentpost.runtime.steps import INFRASTRUCTURE_ERRORS, Invocation, Steps

Effect = Callable[[Request, Slot], Awaitable[Any]]


class Effects(ABC):
    """Makes the calls of one turn or job (see `author.objects.Backend`). ``place``: whose files the
    run writes."""

    calls: dict[str, Effect]
    """What each call does, by its name."""

    def __init__(
        self, ctx: AppContext, steps: Steps, journal: Journal, deltas: Deltas, place: Place
    ) -> None:
        self.ctx = ctx
        self.journal = journal
        self.files = journal
        self.deltas = deltas
        self.delta = deltas.add
        self.refuse_in_body = journal.refuse_in_body
        self._steps = steps
        self._place = place
        self.call_names: set[str] = set()
        """Of the calls that the run has made."""
        self.calls = {"step": self._step, "write": self._write}

    def call(self, request: Request) -> Awaitable[Any]:
        """Number the call now; made when it is awaited, unless its answer is recorded."""
        self.call_names.add(request.name)
        parts = (request.name, *request.identity)
        effect = partial(self.calls[request.name], request)
        return self.journal.answer(self.journal.next(*parts), parts, effect)

    def give_output(self, text: str, fatal: OutputInvalid | None) -> None:
        """End the run whose output was wrong once too often."""
        if fatal is not None:
            self.journal.cause = str(fatal)
            self.journal.stop(StopCause.OUTPUT_INVALID)

    def history(self) -> Sequence[Said]:
        """What was said before, oldest first; blocks. A job is not told."""
        return ()

    # --- for turns and jobs -----------------------------------------------------------------------
    @abstractmethod
    def _record(
        self, call: Call, price: int, charges: Sequence[Charge], file: FileRecord | None = None
    ) -> Coroutine[Any, Any, None]:
        """Record an answer; or a file that was written, whose record is completed. For a file
        raises `StorageFull`."""

    @abstractmethod
    async def _hold(self, slot: Slot, price: int) -> None:
        """Hold what the call costs."""

    async def _step(self, request: Request, slot: Slot) -> Any:
        step = await self._begin(request, slot)
        assert step is not None, "a step has a function"
        with self.journal.body(step.key, here=step.here) as body:
            running = self._steps.run_with_retries(
                step, self.journal, request.retry, request.seconds
            )
            value = await self._or_record_error(running, request, slot, body)
        call = slot.call(CallState.DONE, value)
        await self.journal.guard(self._record(call, request.price, body.charges))
        return self.journal.replay(call)

    async def _write(self, request: Request, slot: Slot) -> File:
        maker = await self._begin(request, slot)
        key, is_here = (maker.key, maker.here) if maker else (None, False)
        with self.journal.body(key, here=is_here) as body:
            storing = self._store(request, maker)
            record = await self._or_record_error(storing, request, slot, body)
        call = slot.call(CallState.DONE)
        recording = self._record(call, request.price, body.charges, record)
        try:
            await self.journal.guard(recording, (StorageFull,))
        except StorageFull as error:
            await self.journal.guard(blobs.discard(self.ctx, [record.blob]))
            await self._record_error(error, request, slot, body.charges)
            raise
        return self.readable(agent_file(record))

    async def _store(self, request: Request, maker: Invocation | None) -> FileRecord:
        path, label = request.head[0], request.tail[1] if request.tail else None
        data = maker or request.data
        assert data is not None, "a function makes what is not given"
        async with self._steps.contents(data, self.journal, request.seconds) as contents:
            return await outputs.store(self.ctx, self.journal, contents, path, label, self._place)

    async def _or_record_error(
        self, work: Coroutine[Any, Any, Any], request: Request, slot: Slot, body: StepBody
    ) -> Any:
        """Await the author's part of a call; what it raises is recorded and raised."""
        try:
            return await work
        except INFRASTRUCTURE_ERRORS as error:
            self.journal.fault(error)
        except Exception as error:
            body.over = True
            await self._record_error(error, request, slot, body.charges)
            raise

    async def _record_error(
        self, error: Exception, request: Request, slot: Slot, charges: Sequence[Charge] = ()
    ) -> None:
        text = values.dump(values.describe_error(error))
        failed = slot.call(CallState.ERROR, text)
        await self.journal.guard(self._record(failed, request.price, charges))

    async def _begin(self, request: Request, slot: Slot) -> Invocation | None:
        """Hold what the call costs, unless an earlier run does; its function, if it has one."""
        self.journal.go_on()
        if request.price and not slot.is_held:
            await self._hold(slot, request.price)
        if request.fn is None:
            return None
        key = f"{self.journal.owner}:{slot.n}"
        is_here = inspect.iscoroutinefunction(request.fn)
        return Invocation(request.fn, request.args or (), slot.n, key, request.kwargs, is_here)

    def readable(self, file: File) -> File:
        """The file as the run's code reads it."""
        return replace(file, source=self.journal)
