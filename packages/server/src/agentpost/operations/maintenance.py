"""Switching the API off and on (spec: Errors unavailable).

Kept in the database, so it survives restarts and holds for every node. Only the API is off: running
turns, jobs, deliveries and deadlines go on, and so do the health routes, file links and web pages.
"""

from agentpost.context import AppContext
from agentpost.db import meta

SWITCH = "maintenance"
"""The name of the value in the database: ``on`` or ``off``."""


async def switch(ctx: AppContext, *, on: bool) -> None:
    """Switch the API off (``on``: maintenance) or on again; servers notice within a second."""
    await ctx.db.write(lambda tx: meta.put(tx, SWITCH, "on" if on else "off"))


async def refresh(ctx: AppContext) -> None:
    """Bring ``ctx.unavailable`` up to date."""
    ctx.unavailable = await ctx.db.read(lambda tx: meta.get(tx, SWITCH)) == "on"


class Look:
    """`refresh` repeatedly; reads only after a change of the database, where those can be seen."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._seen: int | None = None

    async def run(self) -> None:
        """Look once."""
        changes = self._ctx.db.changes
        if changes is None or changes != self._seen:
            await refresh(self._ctx)
            self._seen = changes
