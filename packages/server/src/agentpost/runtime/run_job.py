"""Running jobs: the functions on the agent loop, their calls recorded one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from agentpost.domain.times import seconds
from agentpost.explain.agent_lines import output_kept
from agentpost.jobs import actions as jobs, rules as job_rules
from agentpost.jobs.actions import JobClaim
from agentpost.nodes import actions as nodes, ownership
from agentpost.observability import traces
from agentpost.operations import health_state
from agentpost.record import signals as s
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.record.tickets import JobTicket
from agentpost.runtime import traced
from agentpost.runtime.effects import Effects, Place, retry_until_recorded
from agentpost.runtime.journal import Slot, StopCause
from agentpost.runtime.runs import Run, Runner
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop

log = structlog.get_logger(__name__)


_TURN_FIRST_SECONDS = 0.02
"""How long a job lets the turn that starts it return first. Then the reply, which most turns give
right after, stands in the log before what the job writes."""
FindJob = Callable[[str], Callable[..., Any]]
"""The job function of an import name; raises `MissingFunction`."""
Ending = tuple[s.Finished | s.Failed, str | None]
"""How a job ends, and JSON of the memory that its function leaves."""
_PAUSE_SECONDS = 15.0
_PAUSE_SECONDS_MAX = 600.0
"""Between two runs of a job whose code changed."""


@dataclass(frozen=True, slots=True)
class ChangedCode:
    """``text``: what differs, for the log of the message; ``cause``: the same with values, for the
    operator; ``failure``: what a job that waited in vain says."""

    text: str
    cause: str
    failure: str


class JobCodeMissing(Exception):
    """The process that was to run a job's function cannot find it."""


class JobRunner(Runner):
    """Runs jobs on the agent loop, one task each. Safe on any thread."""

    def __init__(
        self, ctx: AppContext, loop: AgentLoop, steps: Steps, find: FindJob = values.resolve
    ) -> None:
        super().__init__(loop)
        self._ctx = ctx
        self._steps = steps
        self._loop = loop
        self._find = find

    def run(self, job_id: str, epoch: int | None) -> None:
        """See `JobExecutor.run`."""
        if epoch is None:
            self._claim(job_id, None, may_be_suspect=False)
        else:
            claim = partial(jobs.open_, self._ctx, job_id, epoch)
            self.runs.submit(job_id, epoch, partial(self._run, claim))

    def reclaim(self, job_id: str, node: str | None) -> None:
        """Go on with a job that this node owned when it went away, or lost it; or with one that
        nobody owns, even when it is suspected of ending its process."""
        self._claim(job_id, node)

    async def leave(self) -> None:
        """Begin no more jobs; each that runs records the calls that are under way and is handed
        over. Returns when none is left; on any loop but the agent loop."""
        self.runs.close()
        await self._loop.run(self.runs.leave())

    def _claim(self, job_id: str, node: str | None, *, may_be_suspect: bool = True) -> None:
        if not self.runs.claiming(job_id):  # while the loop is blocked, each sweep asks again
            claim = partial(jobs.claim, self._ctx, job_id, node, may_be_suspect=may_be_suspect)
            self.runs.submit(job_id, None, partial(self._run, claim))

    async def _run(self, claim: Callable[[], Awaitable[JobTicket | None]], run: Run) -> None:
        try:
            ticket = await claim()
        except Exception as error:  # still nobody's, or ours and missing: found by a sweep
            log.warning("job_not_claimed", job_id=run.owner, error=repr(error))
            return
        if ticket is None:
            return
        # Its owner is this node's at that epoch.
        run.epoch = ticket.epoch
        run.on_change()
        if ticket.epoch > 1:
            self.runs.cancel(run.owner, before=ticket.epoch)  # fenced by our claim
        try:
            if ticket.turn is not None:
                # Wait for the event, but no longer.
                if not ticket.turn.is_set():
                    await asyncio.sleep(0)  # it is about to be, most often
                if not ticket.turn.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_TURN_FIRST_SECONDS):  # `wait_for` makes a task
                            await ticket.turn.wait()
            await self._perform(ticket, run)
        except asyncio.CancelledError:
            log.info("job_aborted", job_id=run.owner)
            raise
        finally:
            if run.leaving and run.cancelled:
                await nodes.hand_over_job(self._ctx, run.owner, ticket.epoch)
        if run.again:
            self.reclaim(run.owner, self._ctx.node)

    async def _perform(self, ticket: JobTicket, run: Run) -> None:
        """Run a job's function once and record how it ended (design: How a job ends). Cancelled (a
        stop, a shutdown) it leaves without a word: what is to be recorded already was. A parked or
        lost run writes nothing, and one whose code changed waits for it."""
        ctx, record = self._ctx, ticket.job
        effects = JobEffects(ctx, self._steps, ticket, run)
        effects.enter()
        structlog.contextvars.clear_contextvars()
        claim = effects.claim
        outcome: Ending | ChangedCode | None = None
        async with output_kept(ctx, record.id, message_id=record.message_id, job_id=record.id):
            try:
                with traced.run(traces.JOB, record.id, record.message_id, ticket.traceparent):
                    outcome = await effects.work(self._find)
                with run.recording():
                    if isinstance(outcome, tuple):
                        ending = partial(jobs.end, ctx, claim, *outcome)
                        await retry_until_recorded(ending, record.id)
            except Fenced:
                log.info("job_fenced", epoch=ticket.epoch)
        if isinstance(outcome, ChangedCode):
            await _wait_for_code(ctx, claim, outcome, run)


async def _wait_for_code(ctx: AppContext, claim: JobClaim, change: ChangedCode, run: Run) -> None:
    """A wrong deploy must not end work that rolling back would let go on (design: Code that
    changed): tell that the job waits, and have it run again after a pause that grows with the time
    it has waited; fail it after `code_changed_wait_seconds`.

    A run that is ended while it waits was stopped, is taken by another node, or leaves this one.
    """
    limit = seconds(ctx.settings.code_changed_wait_seconds)
    try:
        since = await jobs.code_changed(ctx, claim, change.text, change.cause) if limit else 0
        so_far = ctx.clock.now() - since
        if so_far >= limit:
            failed = s.Failed(change.failure, change.cause)
            await retry_until_recorded(partial(jobs.end, ctx, claim, failed), claim.job_id)
            return
    except Fenced:
        log.info("job_fenced", epoch=claim.epoch)
        return
    except Exception as error:  # the database; `nodes.reconciler` finds that nothing runs it
        log.warning("run_interrupted", owner=claim.job_id, error=repr(error))
        return
    pause = min(
        max(so_far, seconds(_PAUSE_SECONDS)),
        seconds(_PAUSE_SECONDS_MAX),
        limit - so_far,
    )
    run.wait()
    key = f"{claim.job_id}:{claim.epoch}"
    ctx.health.waits(key, claim.job_id, change.text, health_state.CODE)
    try:
        await asyncio.sleep(pause / seconds(1))
    finally:
        ctx.health.waits_no_longer(key)
    run.again = True


class JobEffects(Effects):
    """Makes the calls of a job. Interruptions are counted in its row, so over restarts as well."""

    def __init__(self, ctx: AppContext, steps: Steps, ticket: JobTicket, run: Run) -> None:
        record = ticket.job
        place = Place(record.account_id, record.message_id, record.work_id, record.id)
        has_waited = record.diverged_at is not None
        super().__init__(ctx, steps, ticket, run, place, has_waited=has_waited)
        self.claim = JobClaim(record.id, record.account_id, ticket.epoch)
        self.output = outputs.Output(ticket.response_schema_json)
        self._ticket = ticket
        self._inbox_read = 0
        self.calls |= {
            "files": self._files,
            "progress": partial(self._perform, jobs.progress, self.claim),
            "output": self._output,
            "inbox": self._inbox,
            "charge": self._charge,
        }

    async def work(self, find: FindJob) -> Ending | ChangedCode | None:
        """How the function ended, a failure, or None when nothing is to be written."""
        ticket, record, said = self._ticket, self._ticket.job, self._ticket.message
        if said.files:
            said = replace(said, files=tuple(map(self.readable, said.files)))
        ids_of = (record.id, record.work_id, record.title)
        inputs = JobInputs(*ids_of, said, ticket.state_json, ticket.response_schema_json)
        author = AuthorJob(self, inputs)
        try:
            fn, args = find(record.fn), values.load(record.args_json, self)
        except values.MissingFunction as error:
            return _missing(record.fn, error)
        outcome = await self.outcome_of(self._end(author, fn, args))
        if self.divergence is not None:
            how = self.divergence
            return ChangedCode(how.waiting_text, how.cause, job_rules.CODE_CHANGED_FAILURE)
        if self.stopped is StopCause.OUTPUT_INVALID:
            return s.Failed(job_rules.OUTPUT_INVALID_FAILURE, self.cause), None
        if self.over:
            return None
        if isinstance(outcome, JobCodeMissing):
            return _missing(record.fn, outcome)
        if isinstance(outcome, tuple):
            return outcome
        if isinstance(outcome, JobFailed):
            text = agent_text(str(outcome)[:SAID_CHARACTERS_MAX]) or job_rules.GENERIC_FAILURE
            return s.Failed(text, self.cause, is_lasting(outcome)), None
        self.cause = cause_of(outcome)
        # Its author did not expect this: its user reads where the operator finds it.
        log_id = new_id(ids.REQUEST, self.ctx.clock.now())
        log.error("job_failed", log_id=log_id, exc_info=outcome)
        return s.Failed(f"{job_rules.GENERIC_FAILURE} (log id {log_id})", self.cause), None

    async def _end(self, author: AuthorJob, fn: Callable[..., Any], args: dict[str, Any]) -> Ending:
        """How the job ends when its function has returned; checks it."""
        text = await fn(author, **args)
        result, is_missing = agent_text(text) if text is not None else "", self.output.is_missing
        ending: Ending = (s.Failed(job_rules.OUTPUT_MISSING_FAILURE), None)
        if author.question is not None or not is_missing:
            finished = s.Finished(result, author.question, author.answer_format)
            ending = (finished, author.changed_state())
        self.note_return()
        return ending

    def call(self, request: Request) -> Awaitable[Any]:
        """Number the call now; made when it is awaited, unless its answer is recorded. In the body
        of a step, `progress` and `charge` have no number."""
        match request.name:
            case "progress" | "charge":
                self.go_on()
                body = self.calling(request.name)
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
        return self.guard(jobs.progress(self.ctx, self.claim, None, *request.head))

    # --- the calls --------------------------------------------------------------------------------
    async def _files(self, _: Request, slot: Slot) -> list[File]:
        files = await self.guard(jobs.list_files(self.ctx, self._ticket))
        await self.guard(self._record(slot.call(CallState.DONE, values.dump(files)), 0, ()))
        return [self.readable(file) for file in files]

    async def _output(self, request: Request, slot: Slot) -> None:
        self.go_on()
        text = outputs.as_json(request.head[0])
        if len(text) > schemas.SMALL_CHARACTERS:
            error = await asyncio.to_thread(self.output.check, text)
        else:
            error = self.output.check(text)
        if error is None:
            call = slot.call(CallState.DONE)
            await self.guard(jobs.set_output(self.ctx, self.claim, call, text))
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
                value: str | None = await self.guard(reading)
                if value is not None:
                    follow_ups: dict[str, Any] = values.load(value, None)
                    return follow_ups
                with self.idle():
                    await waiting.wait(left)

    async def _read_on(self, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        follow_ups = await answer
        self._inbox_read = follow_ups["last"]
        return follow_ups

    async def _charge(self, request: Request, slot: Slot) -> None:
        if request.price:
            call, note = slot.call(CallState.DONE), request.head[1]
            await self.guard(jobs.charge(self.ctx, self.claim, call, request.price, note))

    # --- what is recorded -------------------------------------------------------------------------
    def _confirm(self) -> Coroutine[Any, Any, float]:
        return ownership.confirm(self.ctx, "jobs", self.claim.job_id, self.claim.epoch)

    async def _count_interruption(self, reason: str, times: int, failure: str) -> bool:
        return await jobs.note_interruption(self.ctx, self.claim, reason, failure)

    async def _show_waiting(self, text: str) -> None:
        await jobs.progress(self.ctx, self.claim, None, text)

    async def _note_code_fits(self) -> None:
        await jobs.code_fits(self.ctx, self.claim)

    async def _charge_owed(self, n: int) -> None:
        await jobs.charge_owed(self.ctx, self.claim, n)

    async def _hold(self, slot: Slot, price: int) -> None:
        call = slot.call(CallState.HELD)
        await self.guard(jobs.hold(self.ctx, self.claim, call, price))

    def _record(
        self, call: Call, price: int, charges: Sequence[Charge], file: FileRecord | None = None
    ) -> Coroutine[Any, Any, None]:
        return jobs.record_call(self.ctx, self.claim, call, price, charges, file)


def _missing(fn: str, error: Exception) -> ChangedCode:
    log.error("job_code_missing", fn=fn, error=str(error))
    text = f"Waits for its code: its function {fn} is not there."
    return ChangedCode(text, str(error), job_rules.MISSING_CODE_FAILURE)
