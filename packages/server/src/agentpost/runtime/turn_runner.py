"""The turns of this process: started, cancelled and ended."""

from __future__ import annotations

from functools import partial

from agentpost.agents import AgentFn
from agentpost.context import AppContext
from agentpost.record.tickets import TurnTicket
from agentpost.runtime.run_turn import run_turn
from agentpost.runtime.runs import Run, Runs
from agentpost.runtime.steps import Steps
from agentpost.threads.loop import AgentLoop
from agentpost.turns import actions as turns


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

    async def _run(self, ctx: AppContext, ticket: TurnTicket, run: Run) -> None:
        await run_turn(ctx, self.agent, self._steps, ticket, run)
        if run.again:  # when this fails, a sweep finds that nobody runs it
            await turns.reclaim(ctx, run.owner, ctx.node)

    def abort(self, message_id: str) -> None:
        """See `context.TurnRunner.abort`."""
        self.runs.cancel(message_id)

    async def stop(self, seconds: float) -> None:
        """End what runs; the next owner continues it from its recorded calls."""
        await self.runs.stop(seconds)
