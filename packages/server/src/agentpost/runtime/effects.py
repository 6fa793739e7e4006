"""Making the calls of a run in the server: each takes effect once and is recorded."""

import asyncio
from abc import abstractmethod
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agentpost.agents import File, OutputInvalid, Said, StorageFull, values
from agentpost.author.bodies import Spilled
from agentpost.author.objects import Request
from agentpost.author.scope import StepBody
from agentpost.blobs import actions as blobs, space
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.domain import backoff
from agentpost.domain.credits import Charge
from agentpost.domain.errors import Fenced, reason_of
from agentpost.files.executable_rules import HEAD_BYTES
from agentpost.operations import health_state
from agentpost.record.history import agent_file
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.record.tickets import JobTicket, TurnTicket
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.journal import Journal, Slot, StopCause, is_cancelled
from agentpost.runtime.runs import Run
from agentpost.runtime.steps import INFRASTRUCTURE_ERRORS, Steps, runs_here, unless_killed
from agentpost.storage import sniff
from agentpost.storage.base import BlobInfo

log = structlog.get_logger(__name__)
T = TypeVar("T")
RETRY_SECONDS_FIRST = 0.2
_RETRY_SECONDS_MAX = 10.0
_AGAIN_SECONDS = 0.5
_AGAIN_SECONDS_MAX = 4.0
Effect = Callable[[Request, Slot], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """Whose files a run writes; no job or work for a turn's."""

    account_id: str
    message_id: str
    work_id: str = ""
    job_id: str | None = None


class Effects(Journal):
    """Makes the calls of one turn or job (see `author.objects.Backend`). ``place``: whose files
    the run writes, and whose streams show its text."""

    def __init__(
        self,
        ctx: AppContext,
        steps: Steps,
        ticket: TurnTicket | JobTicket,
        run: Run,
        place: Place,
        *,
        has_waited: bool = False,
    ) -> None:
        super().__init__(ctx, steps.rebuild, ticket, run, has_waited=has_waited)
        self._steps = steps.for_account(place.account_id)
        self.files = self
        self.deltas = Deltas(ctx.wakeups, place.message_id, place.job_id, ticket.epoch)
        self.delta = self.deltas.add
        self._place = place
        self.call_names: set[str] = set()
        """Of the calls that the run has made."""
        self.calls: dict[str, Effect] = {"step": self._step, "write": self._write}
        """What each call does, by its name."""

    def call(self, request: Request) -> Awaitable[Any]:
        """Number the call now; made when it is awaited, unless its answer is recorded."""
        self.call_names.add(request.name)
        parts = (request.name, *request.identity)
        effect = partial(self.calls[request.name], request)
        return self.answer(self.next(*parts), parts, effect)

    async def outcome_of(self, code: Awaitable[T]) -> T | BaseException:
        """What the author's function, or what comes of it, returns or raises; but for the end of
        this task. The run may have been stopped, even if that code swallowed, grouped or replaced
        the exception."""
        try:
            return await code
        except BaseException as error:
            if is_cancelled(error):
                raise
            return error
        finally:
            self.deltas.close()

    def give_output(self, text: str, fatal: OutputInvalid | None) -> None:
        """End the run whose output was wrong once too often."""
        if fatal is not None:
            self.cause = str(fatal)
            self.stop(StopCause.OUTPUT_INVALID)

    def history(self) -> Sequence[Said]:
        """What was said before, oldest first; blocks. A job is not told."""
        return ()

    async def path(self, file: File) -> Path:
        """See `FileSource.path`."""
        try:
            return await self._steps.path(file)
        except INFRASTRUCTURE_ERRORS as error:
            self.fault(error)

    async def text(self, file: File) -> str:
        """See `FileSource.text`."""
        try:
            return await unless_killed(lambda: self._steps.text(file), self, file.id)
        except INFRASTRUCTURE_ERRORS as error:
            self.fault(error)

    # --- for turns and jobs -----------------------------------------------------------------------
    async def _perform(
        self,
        use_case: Callable[..., Coroutine[Any, Any, T]],
        row: object,
        request: Request,
        slot: Slot,
    ) -> T:
        """A call that is one transaction, which records its answer. ``row``: the ticket or claim
        that names the turn or job."""
        call = slot.call(CallState.DONE)
        return await self.guard(use_case(self.ctx, row, call, *request.head))

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
        await self._begin(request, slot)
        with self._body(request, slot) as body:
            running = self._steps.run_with_retries(request, slot.n, self)
            value = await self._or_record_error(running, request, slot, body)
        call = slot.call(CallState.DONE, value)
        await self.guard(self._record(call, request.price, body.charges))
        return self.replay(call)

    async def _write(self, request: Request, slot: Slot) -> File:
        await self._begin(request, slot)
        with self._body(request, slot) as body:
            storing = self._store(request, slot)
            record = await self._or_record_error(storing, request, slot, body)
        call = slot.call(CallState.DONE)
        recording = self._record(call, request.price, body.charges, record)
        try:
            await self.guard(recording, (StorageFull,))
        except StorageFull as error:
            await self.guard(blobs.discard(self.ctx, [record.blob]))
            await self._record_error(error, request, slot, body.charges)
            raise
        return self.readable(agent_file(record))

    async def _begin(self, request: Request, slot: Slot) -> None:
        """Hold what the call costs, unless an earlier run does."""
        self.go_on()
        if request.price and not slot.is_held:
            await self._hold(slot, request.price)

    def _body(self, request: Request, slot: Slot) -> AbstractContextManager[StepBody]:
        """The function of a call runs inside, if it has one."""
        if request.fn is None:
            return self.body(None, here=False)
        return self.body(self.key_of(slot.n), here=runs_here(request.fn))

    async def _store(self, request: Request, slot: Slot) -> FileRecord:
        """Put the bytes and describe them: the record is written by the transaction after. A file
        that an agent process left for that goes.

        What is wrong with the contents is the author's and is raised: `TypeError`, or `OSError` for
        a path that cannot be read.
        """
        async with self._steps.contents(request, slot.n, self) as data:
            if not isinstance(data, bytes | Path):
                kind = type(data).__name__
                raise TypeError(f"contents are bytes, text or a Path, not {kind}")
            try:
                head = (
                    data[:HEAD_BYTES] if isinstance(data, bytes) else await to_thread(_head, data)
                )
                blob = f"files/{new_id('', self.ctx.clock.now())}"
                info = await self._put(blob, data)
            finally:
                if isinstance(data, Spilled):
                    data.unlink(missing_ok=True)
        path, label = request.head[0], request.tail[1] if request.tail else None
        name, place = path.rpartition("/")[2], self._place
        content_type, kind = sniff.describe(name, head, None)
        return FileRecord(
            work_id=place.work_id,
            path=path,
            account_id=place.account_id,
            message_id=place.message_id,
            job_id=place.job_id,
            name=name,
            content_type=content_type,
            kind=kind,
            size=info.size,
            revision=f'"{info.sha256[:32]}"',
            blob=blob,
            label=label,
        )

    async def _put(self, blob: str, data: bytes | Path) -> BlobInfo:
        """Store the bytes, as often as it takes: what was made to get them is not to be made again.

        The second try that fails is told to the client and the operator. A run that leaves this
        node is ended while it waits; its next owner makes the call again. Raises `OSError` as
        `_store`.
        """
        tries, is_reported = 0, False
        try:
            while True:
                self.go_on()
                try:
                    info = await blobs.store(self.ctx, blob, data)
                    break
                except Exception as error:
                    fault = error
                if isinstance(data, Path):
                    await to_thread(_head, data)
                if tries == 1:
                    reason = reason_of(fault)
                    self.ctx.health.waits(blob, self.owner, reason, health_state.STORAGE)
                    log.warning("file_waits", owner=self.owner, reason=reason)
                if tries and not is_reported:
                    is_reported = await self.tell_waiting(space.waiting_text(fault))
                with self.idle():
                    await asyncio.sleep(backoff.pause(tries, _AGAIN_SECONDS, _AGAIN_SECONDS_MAX))
                await self.ready()
                tries += 1
        finally:
            self.ctx.health.waits_no_longer(blob)
        if tries > 1:
            log.info("file_wait_over", owner=self.owner, tries=tries + 1)
        return info

    async def _or_record_error(
        self, work: Coroutine[Any, Any, Any], request: Request, slot: Slot, body: StepBody
    ) -> Any:
        """Await the author's part of a call; what it raises is recorded and raised."""
        try:
            return await work
        except INFRASTRUCTURE_ERRORS as error:
            self.fault(error)
        except Exception as error:
            body.over = True
            await self._record_error(error, request, slot, body.charges)
            raise

    async def _record_error(
        self, error: Exception, request: Request, slot: Slot, charges: Sequence[Charge] = ()
    ) -> None:
        text = values.dump(values.describe_error(error))
        failed = slot.call(CallState.ERROR, text)
        await self.guard(self._record(failed, request.price, charges))

    def readable(self, file: File) -> File:
        """The file as the run's code reads it."""
        return replace(file, source=self)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


async def retry_until_recorded(write: Callable[[], Awaitable[None]], owner: str) -> None:
    """Retry until the end is recorded: only this process has the result. Raises `Fenced` when
    another node owns the turn or job; that is also how a second try learns that the first one went
    through after all."""
    tries = 0
    while True:
        try:
            await write()
            return
        except Fenced:
            raise
        except Exception as error:
            log.warning("result_not_recorded", owner=owner, tries=tries + 1, error=str(error))
        await asyncio.sleep(backoff.pause(tries, RETRY_SECONDS_FIRST, _RETRY_SECONDS_MAX))
        tries += 1
