"""The processes of a program that is an agent: one for each run under way, and those that wait.

A process ends with its run, unless its last line says that it stays: then it waits here for another
one. So no process has two runs at once, and as many are there as there were runs at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context

from agentpost.agents.adapters.program import Program
from agentpost.agents.adapters.surroundings import Surroundings


class Programs:
    """The processes of one command line. Belongs to the agent loop, which ends them with itself."""

    def __init__(self, argv: list[str], surroundings: Surroundings) -> None:
        self._argv = argv
        self._surroundings = surroundings
        self._idle: dict[Program, asyncio.Task[None]] = {}  # the last one in was used last

    @asynccontextmanager
    async def process(self) -> AsyncIterator[Program]:
        """A process for one run: one that waits, or a new one.

        It waits for another run afterwards if it `stays`. Else, and when the run raises or is
        cancelled, it is killed with all that it started. Raises `OSError`.
        """
        if self._idle:
            program, resting = self._idle.popitem()
        else:
            program, resting = await Program.start(self._argv, self._surroundings), None
        try:
            if resting is not None:
                resting.cancel()
                await asyncio.wait({resting})
            program.begin(self._surroundings)
            yield program
            if program.stays and self._surroundings.program_idle_seconds:
                await self._keep(program)
            else:
                await program.leave()
        finally:
            if program not in self._idle:
                program.kill()

    async def _keep(self, program: Program) -> None:
        """Let it wait, unless it has said more than its end: the next run would take it for its
        own."""
        resting = asyncio.create_task(self._rest(program), context=Context())
        await asyncio.sleep(0)  # what was read before is seen by now
        if not resting.done():
            self._idle[program] = resting

    async def _rest(self, program: Program) -> None:
        """Until it is taken; until it stirs, has waited for long, or the loop ends, which ends
        it."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._surroundings.program_idle_seconds):
                    await program.wait_for_output()
            if self._idle.pop(program, None) is not None:
                await program.leave()
                program.kill()
        finally:
            if self._idle.pop(program, None) is not None:
                program.kill()
