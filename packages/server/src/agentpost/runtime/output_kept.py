"""What an author's code prints and logs in a run: to the log with its ids, and kept with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from agentpost.author.output import Capture, keeping
from agentpost.context import AppContext
from agentpost.domain.agent_lines import AgentLine
from agentpost.explain import agent_lines

log = structlog.get_logger(__name__)


@asynccontextmanager
async def output_kept(ctx: AppContext, owner: str, **ids: str) -> AsyncIterator[None]:
    """Inside, lines of the log have these ids (see `Capture`), and the first ones of the author's
    are stored with the turn or job at the end, however that comes. They are no part of the record:
    those that cannot be stored are in the log."""
    lines: list[AgentLine] = []
    try:
        with keeping(lines, ctx.clock.now), Capture(**ids):
            yield
    finally:
        if lines:
            try:
                await agent_lines.keep(ctx, owner, lines)
            except Exception as error:
                log.warning("agent_lines_not_kept", owner=owner, error=repr(error))
