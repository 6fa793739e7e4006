"""Running turns: the agent's function on the agent loop, its calls recorded one by one."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog

from agentpost.agents import AgentFn, File, Said, values
from agentpost.author.causes import cause_of
from agentpost.author.objects import AuthorTurn, Request, TurnInputs
from agentpost.context import AppContext
from agentpost.domain.credits import Charge
from agentpost.domain.errors import Fenced
from agentpost.domain.times import SECOND, iso
from agentpost.explain.agent_lines import output_kept
from agentpost.jobs import starting
from agentpost.jobs.starting import Start
from agentpost.messages.rules import TurnFailure
from agentpost.nodes import ownership
from agentpost.observability import traces
from agentpost.record import history
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.record.tickets import TurnTicket
from agentpost.runtime import traced
from agentpost.runtime.deltas import Deltas
from agentpost.runtime.effects import Effects
from agentpost.runtime.journal import Journal, RunStopped, Slot, StopCause, is_cancelled
from agentpost.runtime.outputs import Place
from agentpost.runtime.owners import Owner, retry_until_recorded
from agentpost.runtime.runs import Run, Runs
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from agentpost.uploads import attachments

log = structlog.get_logger(__name__)


class TurnRunner:
    """Runs the turns of this process on the agent loop (see `context.TurnRunner`)."""

    def __init__(self, loop: AgentLoop, agent: AgentFn, steps: Steps) -> None:
        self.agent = agent
        """What answers the turns that begin from now on."""
        self._steps = steps
        self.runs = Runs(loop)

    def run(self, ctx: AppContext, ticket: TurnTicket) -> None:
        """See `context.TurnRunner.run`."""
        if ticket.epoch > 1:
            self.runs.cancel(ticket.message.id, before=ticket.epoch)  # fenced by our claim
        self.runs.submit(ticket.message.id, ticket.epoch, partial(self._run, ctx, ticket))

    def abort(self, message_id: str) -> None:
        """See `context.TurnRunner.abort`."""
        self.runs.cancel(message_id)

    async def stop(self, seconds: float) -> None:
        """End what runs; the next owner continues it from its recorded calls."""
        await self.runs.stop(seconds)

    async def _run(self, ctx: AppContext, ticket: TurnTicket, run: Run) -> None:
        """Run the agent once for a message and record how its turn ended (design: How a turn ends).
        A run that was fenced or failed because of the server writes nothing."""
        message = ticket.message
        steps = self._steps.for_account(message.account_id)
        owner = Owner(ctx, partial(ownership.confirm, ctx, "turns", message.id, ticket.epoch))
        journal = Journal(ticket.calls, steps.blobs, run, owner, ticket.confirmed_at, steps.rebuild)
        journal.enter()
        structlog.contextvars.clear_contextvars()
        async with output_kept(ctx, message.id, message_id=message.id):
            try:
                try:
                    with traced.run(traces.TURN, message.id, message.id, message.traceparent):
                        outcome = await _attend(ctx, self.agent, steps, ticket, journal)
                finally:
                    ticket.has_returned.set()
                if isinstance(outcome, TurnFailure):
                    failing = partial(turns.fail, ctx, ticket, outcome, journal.cause)
                    await retry_until_recorded(failing, message.id)
                elif outcome is not None:
                    await retry_until_recorded(partial(turns.end, ctx, ticket, outcome), message.id)
            except Fenced:
                log.info("turn_fenced", epoch=ticket.epoch)
        if run.again:  # when this fails, a sweep finds that nobody runs it
            await turns.reclaim(ctx, run.owner, ctx.node)


async def _attend(
    ctx: AppContext, agent: AgentFn, steps: Steps, ticket: TurnTicket, journal: Journal
) -> TurnResult | TurnFailure | None:
    """Fetch what came by address, then let the agent have its turn."""
    record = ticket.message
    files: tuple[File, ...] = ()
    if record.attachments:
        try:
            # What is wrong with the files is a note; what fails here is ours.
            await journal.guard(attachments.fetch(ctx, record))
            reading = ctx.db.read(lambda tx: history.attachments(tx, record.id))
            files = tuple(await journal.guard(reading))
        except RunStopped:
            return None
    effects = TurnEffects(ctx, steps, ticket, journal)
    files = tuple(effects.readable(file) for file in files)
    assert record.turn_inputs_json is not None, "frozen in the commit that begins the turn"
    inputs = TurnInputs(
        message=Said("user", record.text, files, iso(record.created_at), record.id),
        conversation=ticket.conversation,
        account=record.account_id,
        metadata=record.metadata_json,
        answer=record.answer_json,
        notes=record.notes_json,
        frozen=record.turn_inputs_json,
        schema=record.response_schema_json,
    )
    return await _outcome(ctx, agent, AuthorTurn(effects, inputs), effects)


_FAILURES: Final = {
    StopCause.DIVERGED: TurnFailure.INTERRUPTED,
    StopCause.POISONED: TurnFailure.POISONED,
    StopCause.OUTPUT_INVALID: TurnFailure.OUTPUT_INVALID,
}
"""Why a run was stopped that ends its turn; after any other cause somebody else ends it."""


async def _outcome(
    ctx: AppContext, agent: AgentFn, turn: AuthorTurn, effects: "TurnEffects"
) -> TurnResult | TurnFailure | None:
    """The outcome of the agent's function, as a value; None when nothing is to be written."""
    journal = effects.journal
    began = effects.ticket.message.turn_runs_since or ctx.clock.now()
    left = ctx.settings.turn_limit_seconds - (ctx.clock.now() - began) / SECOND
    # No longer than the limit, also when the clock was set back since the turn began.
    limit = asyncio.timeout(min(max(left, 0.0), ctx.settings.turn_limit_seconds))
    failed: BaseException | None = None
    result: TurnResult | TurnFailure = TurnFailure.ERROR
    try:
        async with limit:
            await agent(turn)
        journal.note_return()
        result = _result(turn, effects)
    except BaseException as error:
        if is_cancelled(error):
            raise
        failed = error
    finally:
        effects.deltas.close()
    # The run was stopped, even if the author's code swallowed, grouped or replaced the exception.
    if journal.stopped in _FAILURES:
        return _FAILURES[journal.stopped]
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


def _result(turn: AuthorTurn, effects: "TurnEffects") -> TurnResult | TurnFailure:
    """The agent's reply when its function returned."""
    output = turn.wanted_output
    reply = "\n\n".join(part for part in turn.replies if part) or None
    has_acted = bool(effects.call_names & _ACTIONS) or output.given is not None
    if reply is None and not turn.question and not has_acted:
        return TurnFailure.EMPTY
    if output.is_missing and not turn.question and "start" not in effects.call_names:
        return TurnFailure.OUTPUT_MISSING
    state = turn.changed_state()
    output_json = None if output.schema_json is None else output.given
    return TurnResult(reply, turn.question, state, turn.answer_format, output_json)


_ACTIONS = frozenset({"start", "join", "stop", "write"})
"""Calls with which a turn has answered, also without a reply."""


class TurnEffects(Effects):
    """Makes the calls of a turn."""

    def __init__(self, ctx: AppContext, steps: Steps, ticket: TurnTicket, journal: Journal) -> None:
        message = ticket.message
        deltas = Deltas(ctx.wakeups, message.id, None, ticket.epoch)
        super().__init__(ctx, steps, journal, deltas, Place(message.account_id, message.id))
        self.ticket = ticket
        self.calls |= {"start": self._start, "join": self._join, "stop": self._stop}

    def history(self) -> Sequence[Said]:
        try:
            messages = self.ctx.db.read_now(lambda tx: history.said_before(tx, self.ticket.message))
        except Exception as error:
            self.journal.fault(error)
        return [
            replace(item, files=tuple(self.readable(file) for file in item.files))
            for item in messages
        ]

    async def _start(self, request: Request, slot: Slot) -> dict[str, Any]:
        ref, title, work, args = request.head
        start = Start(ref, values.dump(args), title, work)
        call = slot.call(CallState.DONE)
        starting_job = starting.start_job(self.ctx, self.ticket, call, start)
        return await self.journal.guard(starting_job, theirs=(LookupError,))

    async def _join(self, request: Request, slot: Slot) -> bool:
        call = slot.call(CallState.DONE)
        return await self.journal.guard(turns.join_job(self.ctx, self.ticket, call, *request.head))

    async def _stop(self, request: Request, slot: Slot) -> bool:
        call = slot.call(CallState.DONE)
        return await self.journal.guard(turns.stop_job(self.ctx, self.ticket, call, *request.head))

    async def _hold(self, slot: Slot, price: int) -> None:
        """The calls of a turn cost nothing."""

    def _record(
        self, call: Call, price: int, charges: Sequence[Charge], file: FileRecord | None = None
    ) -> Coroutine[Any, Any, None]:
        if file is None:
            return turns.record_call(self.ctx, self.ticket, call)
        return turns.write_file(self.ctx, self.ticket, call, file)
