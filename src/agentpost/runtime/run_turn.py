"""Running a turn: the agent's function on the agent loop, its calls recorded one by one."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import structlog

from agentpost.agents import (
    AgentFn,
    Answer,
    File,
    JobFn,
    Running,
    Said,
    Started,
    StorageFull,
    WorkRef,
    values,
)
from agentpost.domain.errors import Fenced
from agentpost.domain.filenames import check_path
from agentpost.domain.journal import CallState
from agentpost.domain.message import TurnFailure
from agentpost.domain.text import agent_text
from agentpost.domain.times import SECOND, iso
from agentpost.runtime import outputs, traced, typed
from agentpost.runtime.bodies import check_body, name_of
from agentpost.runtime.causes import cause_of
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.endings import retry_until_recorded
from agentpost.runtime.journal import Journal, RunStopped, Slot, StopCause, is_cancelled
from agentpost.runtime.output_kept import OutputKept
from agentpost.runtime.owners import TurnOwner
from agentpost.runtime.runs import Run
from agentpost.runtime.steps import INFRASTRUCTURE_ERRORS, Invocation, Steps
from agentpost.runtime.typed import Asking
from agentpost.services import attachments, blobs, history, starting, turns
from agentpost.services.context import AppContext
from agentpost.services.starting import Start
from agentpost.services.tickets import TurnTicket
from agentpost.services.turns import TurnResult

log = structlog.get_logger(__name__)


async def run_turn(
    ctx: AppContext, agent: AgentFn, steps: Steps, ticket: TurnTicket, run: Run
) -> None:
    """Run the agent once for a message and record how its turn ended (design: How a turn ends).

    A run that was fenced or failed because of the server writes nothing.
    """
    message_id = ticket.message.id
    steps = steps.for_account(ticket.message.account_id)
    owner = TurnOwner(ctx, ticket)
    journal = Journal(ticket.calls, steps.blobs, run, owner, ticket.confirmed, steps.rebuild)
    journal.enter()
    structlog.contextvars.clear_contextvars()
    async with OutputKept(ctx, message_id, message_id=message_id):
        try:
            try:
                with traced.turn(ticket.message):
                    ended = await _attended(ctx, agent, steps, ticket, journal)
            finally:
                ticket.returned.set()
            if isinstance(ended, TurnFailure):
                await retry_until_recorded(
                    lambda: turns.fail(ctx, ticket, ended, journal.cause), message_id
                )
            elif ended is not None:
                await retry_until_recorded(lambda: turns.end(ctx, ticket, ended), message_id)
        except Fenced:
            log.info("turn_fenced", epoch=ticket.epoch)


async def _attended(
    ctx: AppContext, agent: AgentFn, steps: Steps, ticket: TurnTicket, journal: Journal
) -> TurnResult | TurnFailure | None:
    """Fetch what came by address, then let the agent have its turn."""
    attached: tuple[File, ...] = ()
    if ticket.message.attachments:
        try:
            # What is wrong with the files is a note; what fails here is ours.
            await journal.guard(attachments.fetch(ctx, ticket.message))
            reading = ctx.db.read(lambda tx: history.attachments(tx, ticket.message.id))
            attached = tuple(await journal.guard(reading))
        except RunStopped:
            return None
    turn = TurnRun(ctx, steps, ticket, attached, journal)
    return await _outcome(ctx, agent, turn, ticket, journal)


async def _outcome(
    ctx: AppContext, agent: AgentFn, turn: TurnRun, ticket: TurnTicket, journal: Journal
) -> TurnResult | TurnFailure | None:
    """The outcome of the agent's function, as a value; None when nothing is to be written."""
    began = ticket.message.turn_runs_since or ctx.clock.now()
    left = ctx.settings.turn_limit_seconds - (ctx.clock.now() - began) / SECOND
    # No longer than the limit, also when the clock was set back since the turn began.
    limit = asyncio.timeout(min(max(left, 0.0), ctx.settings.turn_limit_seconds))
    failed: BaseException | None = None
    result: TurnResult | TurnFailure = TurnFailure.ERROR
    try:
        async with limit:
            await agent(turn)
        journal.returned()
        result = turn.result()
    except BaseException as error:
        if is_cancelled(error):
            raise
        failed = error
    finally:
        turn.deltas.close()
    # The run was stopped, even if the author's code swallowed, grouped or replaced the exception.
    if journal.stopped is StopCause.DIVERGED:
        return TurnFailure.INTERRUPTED
    if journal.stopped is StopCause.POISONED:
        return TurnFailure.POISONED
    if journal.stopped is StopCause.OUTPUT_INVALID:
        return TurnFailure.OUTPUT_INVALID
    if journal.over:
        return None
    if isinstance(failed, TimeoutError) and limit.expired():
        return TurnFailure.ABANDONED
    if failed is not None:
        journal.cause = cause_of(failed)
        log.error("turn_failed", exc_info=failed)
    elif result is TurnFailure.EMPTY:
        log.error("turn_failed", error="it ended without an answer")
    elif result is TurnFailure.OUTPUT_MISSING:
        log.error("turn_failed", error="it ended without an output for the response_schema")
    return result


@dataclass(frozen=True, slots=True)
class _Inputs:
    credits: float
    running: tuple[Running, ...]
    works: tuple[WorkRef, ...]
    state: dict[str, Any]


class TurnRun(Asking):
    """One run of a turn (see `agentpost.agents.Turn`)."""

    def __init__(
        self,
        ctx: AppContext,
        steps: Steps,
        ticket: TurnTicket,
        attached: tuple[File, ...],
        journal: Journal,
    ) -> None:
        super().__init__(journal, ticket.message.response_schema_json)
        self._ctx = ctx
        self._steps = steps
        self._ticket = ticket
        self._replies: list[str] = []
        self._started_work = False
        self._state_before = ""
        self._acted = False  # started, joined, stopped or wrote something
        message = ticket.message
        self.deltas = Deltas(ctx.wakeups, message.id, None, ticket.epoch)
        readable = tuple(self._readable(f) for f in attached)
        self.message = Said("user", message.text, readable, iso(message.created_at), message.id)
        self.conversation = ticket.conversation
        self.account = message.account_id

    # --- inputs -----------------------------------------------------------------------------------
    @cached_property
    def metadata(self) -> dict[str, str]:
        """See `Turn.metadata`."""
        text = self._ticket.message.metadata_json
        read: dict[str, str] = values.load(text, None) if text else {}
        return read

    @property
    def ticket(self) -> TurnTicket:
        """The turn as it was read from the record."""
        return self._ticket

    @cached_property
    def answer(self) -> Answer | None:
        """See `Turn.answer`."""
        text = self._ticket.message.answer_json
        return Answer(**json.loads(text)) if text else None

    @cached_property
    def notes(self) -> Sequence[str]:
        """See `Turn.notes`."""
        return tuple(values.load(self._ticket.message.notes_json, None))

    @cached_property
    def history(self) -> Sequence[Said]:
        """See `Turn.history`. Read when first asked for: most agents never do."""
        try:
            said = self._ctx.db.read_now(lambda tx: history.said_before(tx, self._ticket.message))
        except Exception as error:
            self._journal.fault(error)
        return tuple(
            replace(item, files=tuple(self._readable(f) for f in item.files)) for item in said
        )

    @property
    def running(self) -> Sequence[Running]:
        """See `Turn.running`."""
        return self._inputs.running

    @property
    def works(self) -> Sequence[WorkRef]:
        """See `Turn.works`."""
        return self._inputs.works

    @property
    def credits(self) -> float:
        """See `Turn.credits`."""
        return self._inputs.credits

    @property
    def state(self) -> dict[str, Any]:
        """See `Turn.state`."""
        return self._inputs.state

    @cached_property
    def _inputs(self) -> _Inputs:
        text = self._ticket.message.turn_inputs_json
        assert text is not None, "inputs are frozen in the commit that begins the turn"
        frozen = values.load(text, self._journal)
        self._state_before = values.dump(frozen["state"])
        return _Inputs(
            credits=frozen["credits"],
            running=tuple(Running(**item) for item in frozen["running"]),
            works=tuple(history.work_ref(item) for item in frozen["works"]),
            state=frozen["state"],
        )

    # --- saying -----------------------------------------------------------------------------------
    def reply(self, text: str) -> None:
        """See `Turn.reply`."""
        self._journal.refuse_in_body("reply")
        self._replies.append(agent_text(text))

    def output(self, value: Any) -> None:
        """See `Turn.output`."""
        self._journal.refuse_in_body("output")
        text = typed.as_json(value)
        error = self._output.check(text)
        if error is None:
            self._output.given, self._acted = text, True
        elif self._output.is_hopeless:
            self._journal.cause = str(error)
            self._journal.stop(StopCause.OUTPUT_INVALID)
        else:
            raise error

    def delta(self, text: str, *, reset: bool = False) -> None:
        """See `Turn.delta`."""
        self.deltas.add(text, reset=reset)

    def result(self) -> TurnResult | TurnFailure:
        """The agent's reply when its function returned."""
        reply = "\n\n".join(part for part in self._replies if part) or None
        if reply is None and not self._question and not self._acted:
            return TurnFailure.EMPTY
        if self._output.is_missing and not self._question and not self._started_work:
            return TurnFailure.OUTPUT_MISSING
        return TurnResult(
            reply,
            self._question,
            self._changed_state(),
            self._answer_format,
            self._output.wanted,
        )

    def _changed_state(self) -> str | None:
        if "_inputs" not in self.__dict__:
            return None  # never looked at
        after = values.dump(self._inputs.state)
        return after if after != self._state_before else None

    # --- recorded calls ---------------------------------------------------------------------------
    def start(
        self, job: JobFn, /, title: str, *, work: str | None = None, **args: Any
    ) -> Awaitable[Started]:
        """See `Turn.start`."""
        ref = values.function_ref(job)
        if not inspect.iscoroutinefunction(job):
            raise TypeError(f"a job is a coroutine function, {ref} is not")
        title = agent_text(title)
        work = agent_text(work) if work is not None else None
        start = Start(ref, values.dump(args), title, work)
        self._acted = self._started_work = True

        async def effect(slot: Slot) -> dict[str, Any]:
            call = slot.call(CallState.DONE)
            starting_it = starting.start_job(self._ctx, self._ticket, call, start)
            started = await self._journal.guard(starting_it, theirs=(LookupError,))
            return starting.recorded(started)

        return self._started(self._journal.call("start", (ref, title, work, args), effect))

    async def _started(self, answer: Awaitable[dict[str, Any]]) -> Started:
        return Started(**await answer)

    def join(self, job_id: str, text: str | None = None) -> Awaitable[bool]:
        """See `Turn.join`."""
        self._acted = True
        job_id = agent_text(job_id)
        text = agent_text(text) if text is not None else None

        async def effect(slot: Slot) -> bool:
            call = slot.call(CallState.DONE)
            joining = turns.join_job(self._ctx, self._ticket, call, job_id, text)
            return await self._journal.guard(joining)

        return self._journal.call("join", (job_id, text), effect)

    def stop(self, job_id: str) -> Awaitable[bool]:
        """See `Turn.stop`."""
        self._acted = True
        job_id = agent_text(job_id)

        async def effect(slot: Slot) -> bool:
            call = slot.call(CallState.DONE)
            return await self._journal.guard(turns.stop_job(self._ctx, self._ticket, call, job_id))

        return self._journal.call("stop", (job_id,), effect)

    def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """See `Turn.step`."""
        check_body(fn)
        named = [kwargs] if kwargs else []

        async def effect(slot: Slot) -> Any:
            key = f"{self._ticket.message.id}:{slot.n}"
            return await self._step(slot, Invocation(fn, args, key, kwargs))

        return self._journal.call("step", (name_of(fn), list(args), *named), effect)

    async def _step(self, slot: Slot, body: Invocation) -> Any:
        self._journal.go_on()
        with self._journal.body(here=body.here):
            try:
                call = slot.call(CallState.DONE, await self._steps.value(body, self._journal))
            except INFRASTRUCTURE_ERRORS as error:
                self._journal.fault(error)
            except Exception as error:
                await self._record_error(slot, error)
                raise
        await self._journal.guard(turns.record_call(self._ctx, self._ticket, call))
        return self._journal.replay(call)

    def write(self, path: str, data: bytes | str | Path) -> Awaitable[File]:
        """See `Turn.write`."""
        check_path(path)
        self._acted = True

        async def effect(slot: Slot) -> File:
            return await self._write(slot, path, data)

        return self._journal.call("write", (path, outputs.content_mark(data)), effect)

    async def _write(self, slot: Slot, path: str, data: bytes | str | Path) -> File:
        message = self._ticket.message
        stored = await outputs.store(
            self._ctx,
            self._journal,
            data.encode() if isinstance(data, str) else data,
            path=path,
            label=None,
            account_id=message.account_id,
            message_id=message.id,
            work_id="",
            job_id=None,
        )
        call = slot.call(CallState.DONE)
        writing = turns.write_file(self._ctx, self._ticket, call, stored)
        try:
            file = await self._journal.guard(writing, (StorageFull,))
        except StorageFull as error:
            await self._journal.guard(blobs.discard(self._ctx, [stored.blob]))
            await self._record_error(slot, error)
            raise
        return self._readable(history.agent_file(file))

    async def _record_error(self, slot: Slot, error: Exception) -> None:
        failed = slot.call(CallState.ERROR, values.dump(values.describe_error(error)))
        await self._journal.guard(turns.record_call(self._ctx, self._ticket, failed))

    def _readable(self, file: File) -> File:
        return replace(file, source=self._journal)
