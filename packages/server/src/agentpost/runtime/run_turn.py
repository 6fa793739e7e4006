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
from agentpost.jobs.starting import Start, start_job
from agentpost.messages.rules import TurnFailure
from agentpost.nodes import ownership
from agentpost.observability import traces
from agentpost.record import history
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord
from agentpost.record.tickets import TurnTicket
from agentpost.runtime import traced
from agentpost.runtime.effects import Effects, Place, retry_until_recorded
from agentpost.runtime.journal import RunStopped, Slot, StopCause
from agentpost.runtime.runs import Run, Runner
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from agentpost.uploads import attachments

log = structlog.get_logger(__name__)


class TurnRunner(Runner):
    """Runs the turns of this process on the agent loop (see `context.TurnRunner`)."""

    def __init__(self, loop: AgentLoop, agent: AgentFn, steps: Steps) -> None:
        super().__init__(loop)
        self.agent = agent
        """What answers the turns that begin from now on."""
        self._steps = steps

    def run(self, ctx: AppContext, ticket: TurnTicket) -> None:
        """See `context.TurnRunner.run`."""
        if ticket.epoch > 1:
            self.runs.cancel(ticket.message.id, before=ticket.epoch)  # fenced by our claim
        self.runs.submit(ticket.message.id, ticket.epoch, partial(self._run, ctx, ticket))

    async def _run(self, ctx: AppContext, ticket: TurnTicket, run: Run) -> None:
        """Run the agent once for a message and record how its turn ended (design: How a turn ends).
        A run that was fenced or failed because of the server writes nothing."""
        message = ticket.message
        effects = TurnEffects(ctx, self._steps, ticket, run)
        effects.enter()
        structlog.contextvars.clear_contextvars()
        async with output_kept(ctx, message.id, message_id=message.id):
            try:
                try:
                    with traced.run(traces.TURN, message.id, message.id, message.traceparent):
                        outcome = await effects.attend(self.agent)
                finally:
                    ticket.has_returned.set()
                if outcome is not None:
                    ending = partial(turns.end, ctx, ticket, outcome, effects.cause)
                    await retry_until_recorded(ending, message.id)
            except Fenced:
                log.info("turn_fenced", epoch=ticket.epoch)
        if run.again:  # when this fails, a sweep finds that nobody runs it
            await turns.reclaim(ctx, run.owner, ctx.node)


_FAILURES: Final = {
    StopCause.DIVERGED: TurnFailure.INTERRUPTED,
    StopCause.POISONED: TurnFailure.POISONED,
    StopCause.OUTPUT_INVALID: TurnFailure.OUTPUT_INVALID,
}
"""Why a run was stopped that ends its turn; after any other cause somebody else ends it."""
_LOGGED: Final = {
    TurnFailure.EMPTY: "it ended without an answer",
    TurnFailure.OUTPUT_MISSING: "it ended without an output for the response_schema",
}
_ACTIONS: Final = frozenset({"start", "join", "stop", "write"})
"""Calls with which a turn has answered, also without a reply."""


class TurnEffects(Effects):
    """Makes the calls of a turn."""

    def __init__(self, ctx: AppContext, steps: Steps, ticket: TurnTicket, run: Run) -> None:
        message = ticket.message
        super().__init__(ctx, steps, ticket, run, Place(message.account_id, message.id))
        self._ticket = ticket
        self.calls |= {
            "start": self._start,
            "join": partial(self._perform, turns.join_job, ticket),
            "stop": partial(self._perform, turns.stop_job, ticket),
        }

    async def attend(self, agent: AgentFn) -> TurnResult | TurnFailure | None:
        """Fetch what came by address, then let the agent have its turn. How that ended; None when
        nothing is to be written."""
        ctx, record = self.ctx, self._ticket.message
        files: tuple[File, ...] = ()
        if record.attachments:
            try:
                # What is wrong with the files is a note; what fails here is ours.
                await self.guard(attachments.fetch(ctx, record))
                reading = ctx.db.read(lambda tx: history.attachments(tx, record.id))
                files = tuple(map(self.readable, await self.guard(reading)))
            except RunStopped:
                return None
        assert record.turn_inputs_json is not None, "frozen in the commit that begins the turn"
        inputs = TurnInputs(
            message=Said("user", record.text, files, iso(record.created_at), record.id),
            conversation=self._ticket.conversation,
            account=record.account_id,
            metadata=record.metadata_json,
            answer=record.answer_json,
            notes=record.notes_json,
            frozen=record.turn_inputs_json,
            schema=record.response_schema_json,
        )
        began = record.turn_runs_since or ctx.clock.now()
        left = ctx.settings.turn_limit_seconds - (ctx.clock.now() - began) / SECOND
        # No longer than the limit, also when the clock was set back since the turn began.
        limit = asyncio.timeout(min(max(left, 0.0), ctx.settings.turn_limit_seconds))
        outcome = await self.outcome_of(self._answer(agent, AuthorTurn(self, inputs), limit))
        if self.stopped in _FAILURES:
            return _FAILURES[self.stopped]
        if self.over:
            return None
        if isinstance(outcome, TimeoutError) and limit.expired():
            return TurnFailure.ABANDONED
        if isinstance(outcome, BaseException):
            self.cause = cause_of(outcome)
            log.error("turn_failed", exc_info=outcome)
            return TurnFailure.ERROR
        if isinstance(outcome, TurnFailure):
            log.error("turn_failed", error=_LOGGED[outcome])
        return outcome

    async def _answer(
        self, agent: AgentFn, turn: AuthorTurn, limit: asyncio.Timeout
    ) -> TurnResult | TurnFailure:
        """The agent's reply when its function has returned."""
        async with limit:
            await agent(turn)
        self.note_return()
        output = turn.wanted_output
        reply = "\n\n".join(part for part in turn.replies if part) or None
        has_acted = bool(self.call_names & _ACTIONS) or output.given is not None
        if reply is None and not turn.question and not has_acted:
            return TurnFailure.EMPTY
        if output.is_missing and not turn.question and "start" not in self.call_names:
            return TurnFailure.OUTPUT_MISSING
        state = turn.changed_state()
        output_json = None if output.schema_json is None else output.given
        return TurnResult(reply, turn.question, state, turn.answer_format, output_json)

    async def _start(self, request: Request, slot: Slot) -> dict[str, Any]:
        ref, title, work, args = request.head
        start, call = Start(ref, values.dump(args), title, work), slot.call(CallState.DONE)
        starting = start_job(self.ctx, self._ticket, call, start)
        return await self.guard(starting, theirs=(LookupError,))

    def history(self) -> Sequence[Said]:
        try:
            said = self.ctx.db.read_now(lambda tx: history.said_before(tx, self._ticket.message))
        except Exception as error:
            self.fault(error)
        return [replace(item, files=tuple(map(self.readable, item.files))) for item in said]

    # --- what is recorded -------------------------------------------------------------------------
    def _confirm(self) -> Coroutine[Any, Any, float]:
        return ownership.confirm(self.ctx, "turns", self._ticket.message.id, self._ticket.epoch)

    async def _hold(self, slot: Slot, price: int) -> None:
        """The calls of a turn cost nothing."""

    def _record(
        self, call: Call, price: int, charges: Sequence[Charge], file: FileRecord | None = None
    ) -> Coroutine[Any, Any, None]:
        return turns.record_call(self.ctx, self._ticket, call, file)
