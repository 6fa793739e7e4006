"""What an author's code prints and logs in a run: to the log with its ids, and kept with it for
`agentpost explain`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog

from agentpost.author.output import Capture
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.limits import AGENT_LINES_MAX
from agentpost.domain.text import agent_text
from agentpost.explain import timeline_rows
from agentpost.explain.timeline_rows import AgentLine

log = structlog.get_logger(__name__)

_CHARACTERS_MAX: Final = 500


@asynccontextmanager
async def output_kept(ctx: AppContext, owner: str, **log_ids: str) -> AsyncIterator[None]:
    """Inside, lines of the log have these ids (see `Capture`), and the first ones of the author's
    are stored with the turn or job at the end, however that comes. They are no part of the record:
    those that cannot be stored are in the log."""
    lines: list[AgentLine] = []

    def keep_line(call: int | None, level: str, text: str) -> None:
        if len(lines) < AGENT_LINES_MAX:
            kept = agent_text(text[:_CHARACTERS_MAX])
            lines.append(AgentLine(ctx.clock.now(), call, level, kept))

    try:
        with Capture(log_ids, keep_line):
            yield
    finally:
        if lines:
            try:
                await keep(ctx, owner, lines)
            except Exception as error:
                log.warning("agent_lines_not_kept", owner=owner, error=repr(error))


async def keep(ctx: AppContext, owner: str, lines: Sequence[AgentLine]) -> None:
    """Store the lines of a run of that turn or job; they go when its message does.

    A run may end after its message was cancelled and deleted: then nothing is stored, since nothing
    would delete it.
    """
    run = new_id(ids.REQUEST, ctx.clock.now())
    line_ids = [f"{run}_{n:03}" for n in range(len(lines))]  # several may be of one microsecond

    def insert(tx: Tx) -> None:
        if timeline_rows.hold_owner(tx, owner):
            timeline_rows.insert(tx, owner, line_ids, lines)

    await ctx.db.write(insert)
