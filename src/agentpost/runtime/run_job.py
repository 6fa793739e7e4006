"""Running a job: its function on the agent loop, its calls recorded one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from agentpost.agents import (
    Backoff,
    File,
    JobFailed,
    OutputInvalid,
    Said,
    StorageFull,
    schemas,
    values,
)
from agentpost.agents.retries import DEFAULT_BACKOFF, RetryOn
from agentpost.domain import job, limits
from agentpost.domain.credits import Charge, to_millionths
from agentpost.domain.errors import Fenced
from agentpost.domain.filenames import check_path
from agentpost.domain.journal import CallState
from agentpost.domain.limits import SAID_CHARACTERS_MAX
from agentpost.domain.text import agent_text
from agentpost.runtime import outputs, traced, typed
from agentpost.runtime.bodies import check_body, name_of, step_name
from agentpost.runtime.causes import cause_of, is_lasting, unexpected
from agentpost.runtime.changed_code import ChangedCode, JobCodeMissing, wait_for_code
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.endings import retry_until_recorded
from agentpost.runtime.journal import Journal, Slot, StopCause, is_cancelled
from agentpost.runtime.output_kept import OutputKept
from agentpost.runtime.owners import JobOwner
from agentpost.runtime.retrying import Retry
from agentpost.runtime.runs import Run
from agentpost.runtime.steps import INFRASTRUCTURE_ERRORS, Invocation, Steps
from agentpost.runtime.typed import Asking
from agentpost.services import blobs, jobs
from agentpost.services.context import AppContext
from agentpost.services.history import agent_file
from agentpost.services.jobs import Owned
from agentpost.services.tickets import JobTicket

log = structlog.get_logger(__name__)


async def run_job(
    ctx: AppContext, steps: Steps, ticket: JobTicket, run: Run, find: FindJob = values.resolve
) -> None:
    """Run a job's function once and record how it ended (design: How a job ends).

    Cancelled (a stop, a shutdown) it leaves without a word: what is to be recorded already was.
    """
    steps = steps.for_account(ticket.job.account_id)
    owned = Owned(ticket.job.id, ticket.job.account_id, ticket.epoch)
    owner = JobOwner(ctx, owned)
    journal = Journal(
        ticket.calls,
        steps.blobs,
        run,
        owner,
        ticket.confirmed,
        steps.rebuild,
        waited=ticket.job.diverged_at is not None,
    )
    journal.enter()
    made = JobRun(ctx, steps, ticket, journal)
    structlog.contextvars.clear_contextvars()
    job_id = ticket.job.id
    changed: ChangedCode | None = None
    async with OutputKept(ctx, job_id, message_id=ticket.job.message_id, job_id=job_id):
        try:
            changed = await _run(ctx, ticket, made, journal, run, find)
        except Fenced:
            log.info("job_fenced", epoch=ticket.epoch)
    if changed is not None:
        await wait_for_code(ctx, owned, changed, run)


async def _run(
    ctx: AppContext, ticket: JobTicket, made: JobRun, journal: Journal, run: Run, find: FindJob
) -> ChangedCode | None:
    """Run the function and write down how it ended; a parked or lost run writes nothing, and
    neither does one whose code changed, which is returned."""
    with await traced.job(ctx, ticket.job):
        ended = await _outcome(ctx, ticket, made, journal, find)
    if isinstance(ended, ChangedCode):
        return ended
    with run.recording():
        if isinstance(ended, JobFailed):
            text = agent_text(str(ended)[:SAID_CHARACTERS_MAX]) or job.GENERIC_FAILURE
            failing = partial(jobs.fail, ctx, made.owned, text, journal.cause, is_lasting(ended))
            await retry_until_recorded(failing, made.id)
        elif ended is not None:
            await retry_until_recorded(partial(jobs.finish, ctx, made.owned, *ended), made.id)
    return None


async def _outcome(
    ctx: AppContext, ticket: JobTicket, run: JobRun, journal: Journal, find: FindJob
) -> Ending | JobFailed | ChangedCode | None:
    """How it ended, a failure, or None when nothing is to be written."""
    try:
        fn = find(ticket.job.fn)
        args = values.load(ticket.job.args_json, journal)
    except values.MissingFunction as error:
        return _missing(ticket, error)
    failed: BaseException | None = None
    try:
        ended = run.ending(await fn(run, **args))
        journal.returned()
    except BaseException as error:
        if is_cancelled(error):
            raise
        failed = error
    finally:
        run.deltas.close()
    # The run was stopped, even if the author's code swallowed, grouped or replaced the exception.
    if journal.divergence is not None:
        how = journal.divergence
        return ChangedCode(how.waiting_text, how.cause, job.CODE_CHANGED_FAILURE)
    if journal.stopped is StopCause.OUTPUT_INVALID:
        return JobFailed(job.OUTPUT_INVALID_FAILURE)
    if journal.over:
        return None
    if isinstance(failed, JobCodeMissing):
        return _missing(ticket, failed)
    if failed is None or isinstance(failed, JobFailed):
        return failed or ended
    journal.cause = cause_of(failed)
    return unexpected(failed, ctx.clock.now())


def _missing(ticket: JobTicket, error: Exception) -> ChangedCode:
    log.error("job_code_missing", fn=ticket.job.fn, error=str(error))
    text = f"Waits for its code: its function {ticket.job.fn} is not there."
    return ChangedCode(text, str(error), job.MISSING_CODE_FAILURE)


FindJob = Callable[[str], Callable[..., Any]]
"""The job function of an import name; raises `MissingFunction`."""
Ending = tuple[str, str | None, str, str | None]
"""Result, question, JSON of the memory, and of what the question asks for."""


class JobRun(Asking):
    """One run of a job (see `agentpost.agents.Job`)."""

    def __init__(self, ctx: AppContext, steps: Steps, ticket: JobTicket, journal: Journal) -> None:
        super().__init__(journal, ticket.response_schema_json)
        self._ctx = ctx
        self._steps = steps
        self._ticket = ticket
        self._inbox_read = 0
        record = ticket.job
        self.owned = Owned(record.id, record.account_id, ticket.epoch)
        self.id = record.id
        self.work_id = record.work_id
        self.title = record.title
        self.message: Said = ticket.message
        if self.message.files:
            files = tuple(self._readable(f) for f in self.message.files)
            self.message = replace(self.message, files=files)
        self.state: dict[str, Any] = values.load(ticket.state_json, journal)
        self.deltas = Deltas(ctx.wakeups, record.message_id, record.id, ticket.epoch)

    def delta(self, text: str, *, reset: bool = False) -> None:
        """See `Job.delta`."""
        self.deltas.add(text, reset=reset)

    def ending(self, text: object) -> Ending | JobFailed:
        """How the job ends when its function returned; checks it."""
        result = agent_text(text) if text is not None else ""
        if self._output.is_missing and self._question is None:
            return JobFailed(job.OUTPUT_MISSING_FAILURE)
        return result, self._question, values.dump(self.state), self._answer_format

    # --- recorded calls ---------------------------------------------------------------------------
    def step(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        cost: float = 0,
        retries: int = 0,
        timeout: float | None = None,
        retry_on: RetryOn | None = None,
        backoff: Backoff = DEFAULT_BACKOFF,
        **kwargs: Any,
    ) -> Awaitable[Any]:
        """See `Job.step`."""
        check_body(fn)
        price = to_millionths(cost)
        retry = Retry.of(retries, retry_on, backoff)
        named = [kwargs] if kwargs else []

        async def effect(slot: Slot) -> Any:
            body = Invocation(fn, args, self._key(slot), kwargs)
            return await self._step(slot, body, price, retry, timeout)

        identity = (step_name(fn, name), list(args), price, *named)
        return self._journal.call("step", identity, effect)

    async def _step(
        self, slot: Slot, body: Invocation, price: int, retry: Retry, timeout: float | None
    ) -> Any:
        self._journal.go_on()
        await self._hold(slot, price)
        with self._journal.body(here=body.here) as made:
            try:
                value = await self._steps.retried(body, self._journal, retry, timeout)
            except INFRASTRUCTURE_ERRORS as error:
                self._journal.fault(error)
            except Exception as error:
                made.over = True
                await self._record_error(slot, error, price, made.charges)
                raise
        call = slot.call(CallState.DONE, value)
        recording = jobs.record_call(self._ctx, self.owned, call, price, made.charges)
        await self._journal.guard(recording)
        return self._journal.replay(call)

    def write(
        self,
        path: str,
        data: bytes | str | Path | Callable[..., bytes | str | Path],
        /,
        *args: Any,
        cost: float = 0,
        label: str | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Awaitable[File]:
        """See `Job.write`."""
        check_path(path)
        label = agent_text(label) if label is not None else None
        price = to_millionths(cost)
        mark = outputs.content_mark(data)
        if callable(data):
            check_body(data)
            mark = name_of(data)
        named = [kwargs] if kwargs else []

        async def effect(slot: Slot) -> File:
            contents = Invocation(data, args, self._key(slot), kwargs) if callable(data) else data
            return await self._write(slot, path, contents, price, label, timeout)

        identity = (path, mark, list(args), price, label, *named)
        return self._journal.call("write", identity, effect)

    async def _write(
        self,
        slot: Slot,
        path: str,
        data: bytes | str | Path | Invocation,
        price: int,
        label: str | None,
        timeout: float | None,
    ) -> File:
        self._journal.go_on()
        await self._hold(slot, price)
        record = self._ticket.job
        here = isinstance(data, Invocation) and data.here
        with self._journal.body(here=here) as made:
            try:
                building = self._steps.contents(data, self._journal, timeout)
                async with building as contents:
                    stored = await outputs.store(
                        self._ctx,
                        self._journal,
                        contents,
                        path=path,
                        label=label,
                        account_id=record.account_id,
                        message_id=record.message_id,
                        work_id=record.work_id,
                        job_id=record.id,
                    )
            except INFRASTRUCTURE_ERRORS as error:
                self._journal.fault(error)
            except Exception as error:
                made.over = True
                await self._record_error(slot, error, price, made.charges)
                raise
        call = slot.call(CallState.DONE)
        writing = jobs.write_file(self._ctx, self.owned, call, stored, price, made.charges)
        try:
            file = await self._journal.guard(writing, (StorageFull,))
        except StorageFull as error:
            await self._journal.guard(blobs.discard(self._ctx, [stored.blob]))
            await self._record_error(slot, error, price, made.charges)
            raise
        return self._readable(agent_file(file))

    def files(self) -> Awaitable[list[File]]:
        """See `Job.files`."""
        return self._journal.call("files", (), self._files)

    async def _files(self, slot: Slot) -> list[File]:
        found = await self._journal.guard(jobs.list_files(self._ctx, self._ticket))
        call = slot.call(CallState.DONE, values.dump(found))
        await self._journal.guard(jobs.record_call(self._ctx, self.owned, call))
        return [self._readable(f) for f in found]

    def progress(self, step: str) -> Awaitable[None]:
        """See `Job.progress`."""
        step = agent_text(step)
        if self._journal.calling("progress") is not None:
            return self._progress_in_step(step)

        async def effect(slot: Slot) -> None:
            call = slot.call(CallState.DONE)
            await self._journal.guard(jobs.progress(self._ctx, self.owned, call, step))

        return self._journal.call("progress", (step,), effect)

    async def _progress_in_step(self, step: str) -> None:
        await self._journal.guard(jobs.progress(self._ctx, self.owned, None, step))

    def output(self, value: Any) -> Awaitable[None]:
        """See `Job.output`."""
        text = typed.as_json(value)

        async def effect(slot: Slot) -> None:
            self._journal.go_on()
            if len(text) > schemas.SMALL_CHARACTERS:
                error = await asyncio.to_thread(self._output.check, text)
            else:
                error = self._output.check(text)
            if error is None:
                call = slot.call(CallState.DONE)
                await self._journal.guard(jobs.set_output(self._ctx, self.owned, call, text))
            elif self._output.is_hopeless:
                self._journal.cause = str(error)
                self._journal.stop(StopCause.OUTPUT_INVALID)
            else:
                self._output.invalid -= 1  # counted below, as when it comes from its record
                await self._record_error(slot, error, 0, ())
                raise error

        return self._given(self._journal.call("output", (value,), effect), text)

    async def _given(self, recording: Awaitable[None], text: str) -> None:
        try:
            await recording
        except OutputInvalid:
            self._output.invalid += 1
            raise
        self._output.given = text

    def inbox(self, wait: float = 0) -> Awaitable[list[Said]]:
        """See `Job.inbox`."""

        async def effect(slot: Slot) -> dict[str, Any]:
            value = await self._await_inbox(slot, min(wait, limits.INBOX_WAIT_SECONDS_MAX))
            read: dict[str, Any] = values.load(value, None)
            return read

        return self._inbox(self._journal.call("inbox", (), effect))

    async def _inbox(self, answer: Awaitable[dict[str, Any]]) -> list[Said]:
        read = await answer
        self._inbox_read = read["last"]
        return [Said("user", text, (), at, message_id) for message_id, text, at in read["said"]]

    async def _await_inbox(self, slot: Slot, wait: float) -> str:
        call = slot.call(CallState.DONE)
        until = asyncio.get_running_loop().time() + wait
        with self._ctx.wakeups.listen(self.id) as waiting:
            while True:
                left = until - asyncio.get_running_loop().time()
                last_look = left <= 0 or waiting.over
                value: str | None = await self._journal.guard(
                    jobs.read_inbox(
                        self._ctx, self.owned, call, self._inbox_read, keep_empty=last_look
                    )
                )
                if value is not None:
                    return value
                with self._journal.idle():
                    await waiting.wait(left)

    def charge(self, amount: float, note: str = "") -> Awaitable[None]:
        """See `Job.charge`."""
        price, note = to_millionths(amount), agent_text(note)
        body = self._journal.calling("charge")
        if body is not None:
            return body.charge_later(price, note)

        async def effect(slot: Slot) -> None:
            if price:
                call = slot.call(CallState.DONE)
                await self._journal.guard(jobs.charge(self._ctx, self.owned, call, price, note))

        return self._journal.call("charge", (price, note), effect)

    # --- parts ------------------------------------------------------------------------------------
    async def _hold(self, slot: Slot, price: int) -> None:
        if price and not slot.held:
            held = slot.call(CallState.HELD)
            await self._journal.guard(jobs.hold(self._ctx, self.owned, held, price))

    async def _record_error(
        self, slot: Slot, error: Exception, price: int, charges: Sequence[Charge]
    ) -> None:
        described = values.dump(values.describe_error(error))
        failed = slot.call(CallState.ERROR, described)
        recording = jobs.record_call(self._ctx, self.owned, failed, price, charges)
        await self._journal.guard(recording)

    def _key(self, slot: Slot) -> str:
        return f"{self.id}:{slot.n}"

    def _readable(self, file: File) -> File:
        return replace(file, source=self._journal)
