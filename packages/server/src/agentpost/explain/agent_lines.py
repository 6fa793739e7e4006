"""Keeping what an agent's code printed and logged, for `agentpost explain`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.agent_lines import AgentLine
from agentpost.explain import agent_line_rows


async def keep(ctx: AppContext, owner: str, lines: Sequence[AgentLine]) -> None:
    """Store the lines of a run of that turn or job; they go when its message does.

    A run may end after its message was cancelled and deleted: then nothing is stored, since nothing
    would delete it.
    """
    run = new_id(ids.REQUEST, ctx.clock.now())
    line_ids = [f"{run}_{n:03}" for n in range(len(lines))]  # several may be of one microsecond
    await ctx.db.write(partial(_insert, owner, line_ids, lines))


def _insert(owner: str, line_ids: Sequence[str], lines: Sequence[AgentLine], tx: Tx) -> None:
    if agent_line_rows.hold_owner(tx, owner):
        agent_line_rows.insert(tx, owner, line_ids, lines)
