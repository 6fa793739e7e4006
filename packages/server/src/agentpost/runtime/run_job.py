"""Running a job: its function on the agent loop, its calls recorded one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from agentpost.agents import File, JobFailed, OutputInvalid, schemas, values
from agentpost.author import outputs
from agentpost.author.causes import cause_of, is_lasting
from agentpost.author.objects import AuthorJob, JobInputs, Request
from agentpost.author.scope import StepBody
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.domain import ids, limits
from agentpost.domain.credits import Charge
from agentpost.domain.errors import Fenced
from agentpost.domain.limits import SAID_CHARACTERS_MAX
from agentpost.domain.text import agent_text
from agentpost.explain.agent_lines import output_kept
from agentpost.jobs import actions as jobs, rules as job_rules
from agentpost.jobs.actions import JobClaim
from agentpost.nodes import ownership
from agentpost.observability import traces
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.record.tickets import JobTicket
from agentpost.runtime import traced
from agentpost.runtime.changed_code import ChangedCode, JobCodeMissing, wait_for_code
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.effects import Effects
from agentpost.runtime.journal import Journal, Slot, StopCause, is_cancelled
from agentpost.runtime.outputs import Place
from agentpost.runtime.owners import JobOwner, retry_until_recorded
from agentpost.runtime.runs import Run
from agentpost.runtime.steps import Steps

log = structlog.get_logger(__name__)


async def run_job(
    ctx: AppContext, steps: Steps, ticket: JobTicket, run: Run, find: FindJob = values.resolve
) -> None:
    """Run a job's function once and record how it ended (design: How a job ends). Cancelled (a
    stop, a shutdown) it leaves without a word: what is to be recorded already was."""
    steps = steps.for_account(ticket.job.account_id)
    claim = JobClaim(ticket.job.id, ticket.job.account_id, ticket.epoch)
    owner = JobOwner(ctx, partial(ownership.confirm, ctx, "jobs", claim.job_id, claim.epoch), claim)
    journal = Journal(
        ticket.calls,
        steps.blobs,
        run,
        owner,
        ticket.confirmed_at,
        steps.rebuild,
        has_waited=ticket.job.diverged_at is not None,
    )
    journal.enter()
    effects = JobEffects(ctx, steps, ticket, claim, journal)
    structlog.contextvars.clear_contextvars()
    job_id = ticket.job.id
    change: ChangedCode | None = None
    async with output_kept(ctx, job_id, message_id=ticket.job.message_id, job_id=job_id):
        try:
            change = await _run(ctx, ticket, effects, run, find)
        except Fenced:
            log.info("job_fenced", epoch=ticket.epoch)
    if change is not None:
        await wait_for_code(ctx, claim, change, run)


async def _run(
    ctx: AppContext, ticket: JobTicket, effects: JobEffects, run: Run, find: FindJob
) -> ChangedCode | None:
    """Run the function and write down how it ended; a parked or lost run writes nothing, and
    neither does one whose code changed, which is returned."""
    claim, record, said = effects.claim, ticket.job, ticket.message
    if said.files:
        said = replace(said, files=tuple(map(effects.readable, said.files)))
    ids_of = (record.id, record.work_id, record.title)
    inputs = JobInputs(*ids_of, said, ticket.state_json, ticket.response_schema_json)
    author = AuthorJob(effects, inputs)
    with traced.run(traces.JOB, record.id, record.message_id, ticket.traceparent):
        outcome = await _outcome(ctx, ticket, author, effects, find)
    if isinstance(outcome, ChangedCode):
        return outcome
    with run.recording():
        if isinstance(outcome, JobFailed):
            text = agent_text(str(outcome)[:SAID_CHARACTERS_MAX]) or job_rules.GENERIC_FAILURE
            cause = effects.journal.cause
            failing = partial(jobs.fail, ctx, claim, text, cause, is_lasting(outcome))
            await retry_until_recorded(failing, claim.job_id)
        elif outcome is not None:
            await retry_until_recorded(partial(jobs.finish, ctx, claim, *outcome), claim.job_id)
    return None


async def _outcome(
    ctx: AppContext, ticket: JobTicket, author: AuthorJob, effects: JobEffects, find: FindJob
) -> Ending | JobFailed | ChangedCode | None:
    """How it ended, a failure, or None when nothing is to be written."""
    journal = effects.journal
    try:
        fn = find(ticket.job.fn)
        args = values.load(ticket.job.args_json, journal)
    except values.MissingFunction as error:
        return _missing(ticket, error)
    failed: BaseException | None = None
    try:
        ending = _ending(author, effects, await fn(author, **args))
        journal.note_return()
    except BaseException as error:
        if is_cancelled(error):
            raise
        failed = error
    finally:
        effects.deltas.close()
    # The run was stopped, even if the author's code swallowed, grouped or replaced the exception.
    if journal.divergence is not None:
        divergence = journal.divergence
        return ChangedCode(
            divergence.waiting_text, divergence.cause, job_rules.CODE_CHANGED_FAILURE
        )
    if journal.stopped is StopCause.OUTPUT_INVALID:
        return JobFailed(job_rules.OUTPUT_INVALID_FAILURE)
    if journal.over:
        return None
    if isinstance(failed, JobCodeMissing):
        return _missing(ticket, failed)
    if failed is None or isinstance(failed, JobFailed):
        return failed or ending
    journal.cause = cause_of(failed)
    # Its author did not expect this: its user reads where the operator finds it.
    log_id = new_id(ids.REQUEST, ctx.clock.now())
    log.error("job_failed", log_id=log_id, exc_info=failed)
    return JobFailed(f"{job_rules.GENERIC_FAILURE} (log id {log_id})")


def _missing(ticket: JobTicket, error: Exception) -> ChangedCode:
    log.error("job_code_missing", fn=ticket.job.fn, error=str(error))
    text = f"Waits for its code: its function {ticket.job.fn} is not there."
    return ChangedCode(text, str(error), job_rules.MISSING_CODE_FAILURE)


FindJob = Callable[[str], Callable[..., Any]]
"""The job function of an import name; raises `MissingFunction`."""
Ending = tuple[str, str | None, str, str | None]
"""Result, question, JSON of the memory, and of what the question asks for."""


def _ending(author: AuthorJob, effects: JobEffects, text: object) -> Ending | JobFailed:
    """How the job ends when its function returned; checks it."""
    result = agent_text(text) if text is not None else ""
    if effects.output.is_missing and author.question is None:
        return JobFailed(job_rules.OUTPUT_MISSING_FAILURE)
    return result, author.question, values.dump(author.state), author.answer_format


class JobEffects(Effects):
    """Makes the calls of a job."""

    def __init__(
        self, ctx: AppContext, steps: Steps, ticket: JobTicket, claim: JobClaim, journal: Journal
    ) -> None:
        record = ticket.job
        deltas = Deltas(ctx.wakeups, record.message_id, record.id, ticket.epoch)
        place = Place(record.account_id, record.message_id, record.work_id, record.id)
        super().__init__(ctx, steps, journal, deltas, place)
        self.claim = claim
        self.output = outputs.Output(ticket.response_schema_json)
        self._ticket = ticket
        self._inbox_read = 0
        self.calls |= {
            "files": self._files,
            "progress": self._progress,
            "output": self._output,
            "inbox": self._inbox,
            "charge": self._charge,
        }

    def call(self, request: Request) -> Awaitable[Any]:
        """Number the call now; made when it is awaited, unless its answer is recorded. In the body
        of a step, `progress` and `charge` have no number."""
        match request.name:
            case "progress" | "charge":
                self.journal.go_on()
                body = self.journal.calling(request.name)
                return super().call(request) if body is None else self._call_in(body, request)
            case "output":
                return self._take_output(super().call(request), outputs.as_json(request.head[0]))
            case "inbox":
                return self._read_on(super().call(request))
            case _:
                return super().call(request)

    def _call_in(self, body: StepBody, request: Request) -> Awaitable[None]:
        if request.name == "charge":
            return body.charge(*request.head)
        return self.journal.guard(jobs.progress(self.ctx, self.claim, None, *request.head))

    # --- the calls --------------------------------------------------------------------------------
    async def _files(self, _: Request, slot: Slot) -> list[File]:
        files = await self.journal.guard(jobs.list_files(self.ctx, self._ticket))
        await self.journal.guard(self._record(slot.call(CallState.DONE, values.dump(files)), 0, ()))
        return [self.readable(file) for file in files]

    async def _progress(self, request: Request, slot: Slot) -> None:
        call = slot.call(CallState.DONE)
        await self.journal.guard(jobs.progress(self.ctx, self.claim, call, *request.head))

    async def _output(self, request: Request, slot: Slot) -> None:
        self.journal.go_on()
        text = outputs.as_json(request.head[0])
        if len(text) > schemas.SMALL_CHARACTERS:
            error = await asyncio.to_thread(self.output.check, text)
        else:
            error = self.output.check(text)
        if error is None:
            call = slot.call(CallState.DONE)
            await self.journal.guard(jobs.set_output(self.ctx, self.claim, call, text))
        elif self.output.is_hopeless:
            self.give_output(text, error)
        else:
            self.output.invalid -= 1  # counted below, as when it comes from its record
            await self._record_error(error, request, slot)
            raise error

    async def _take_output(self, recording: Awaitable[None], text: str) -> None:
        try:
            await recording
        except OutputInvalid:
            self.output.invalid += 1
            raise
        self.output.given = text

    async def _inbox(self, request: Request, slot: Slot) -> dict[str, Any]:
        call = slot.call(CallState.DONE)
        wait = min(request.seconds or 0.0, limits.INBOX_WAIT_SECONDS_MAX)
        until = asyncio.get_running_loop().time() + wait
        with self.ctx.wakeups.listen(self.claim.job_id) as waiting:
            while True:
                left = until - asyncio.get_running_loop().time()
                last_look = left <= 0 or waiting.over
                reading = jobs.read_inbox(
                    self.ctx, self.claim, call, self._inbox_read, keep_empty=last_look
                )
                value: str | None = await self.journal.guard(reading)
                if value is not None:
                    follow_ups: dict[str, Any] = values.load(value, None)
                    return follow_ups
                with self.journal.idle():
                    await waiting.wait(left)

    async def _read_on(self, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        follow_ups = await answer
        self._inbox_read = follow_ups["last"]
        return follow_ups

    async def _charge(self, request: Request, slot: Slot) -> None:
        if request.price:
            call, note = slot.call(CallState.DONE), request.head[1]
            await self.journal.guard(jobs.charge(self.ctx, self.claim, call, request.price, note))

    # --- what is recorded -------------------------------------------------------------------------
    async def _hold(self, slot: Slot, price: int) -> None:
        call = slot.call(CallState.HELD)
        await self.journal.guard(jobs.hold(self.ctx, self.claim, call, price))

    def _record(
        self, call: Call, price: int, charges: Sequence[Charge], file: FileRecord | None = None
    ) -> Coroutine[Any, Any, None]:
        if file is None:
            return jobs.record_call(self.ctx, self.claim, call, price, charges)
        return jobs.write_file(self.ctx, self.claim, call, file, price, charges)
