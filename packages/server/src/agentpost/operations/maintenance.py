"""Switching the API off and on (spec: Errors unavailable).

Kept in the database, so it survives restarts and holds for every node. Only the API is off: running
turns, jobs, deliveries and deadlines go on, and so do the health routes, file links and web pages.
"""

from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx

SWITCH = "maintenance"
"""The name of the value in the database: ``on`` or ``off``."""


async def switch(ctx: AppContext, *, on: bool) -> None:
    """Switch the API off (``on``: maintenance) or on again; servers notice within a second."""
    await ctx.db.write(lambda tx: meta.put(tx, SWITCH, "on" if on else "off"))


async def refresh(ctx: AppContext) -> None:
    """Bring ``ctx.unavailable`` up to date."""
    ctx.unavailable = bool(await ctx.resting.due(SWITCH, _switched_on))


def _switched_on(tx: Tx, _: int) -> list[str]:
    return [SWITCH] if meta.get(tx, SWITCH) == "on" else []
