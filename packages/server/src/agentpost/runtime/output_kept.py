"""What an author's code prints and logs in a run: to the log with its ids, and kept with it."""

from __future__ import annotations

import structlog

from agentpost.author.output import capture, keeping
from agentpost.context import AppContext
from agentpost.domain.agent_lines import AgentLine
from agentpost.explain import agent_lines

log = structlog.get_logger(__name__)


class OutputKept:
    """Inside, lines of the log have these ids (see `captured`), and the first ones of the author's
    are stored with the turn or job at the end, however that comes. They are no part of the record:
    those that cannot be stored are in the log."""

    def __init__(self, ctx: AppContext, owner: str, **ids: str) -> None:
        self._ctx = ctx
        self._owner = owner
        self._lines: list[AgentLine] = []
        self._keeping = keeping(self._lines, ctx.clock.now)
        self._captured = capture(**ids)

    async def __aenter__(self) -> None:
        self._keeping.__enter__()
        self._captured.__enter__()

    async def __aexit__(self, *exc: object) -> None:
        self._captured.__exit__(None, None, None)
        self._keeping.__exit__(None, None, None)
        if self._lines:
            try:
                await agent_lines.keep(self._ctx, self._owner, self._lines)
            except Exception as error:
                log.warning("agent_lines_not_kept", owner=self._owner, error=repr(error))
