"""Switching the API off and on (spec: Errors unavailable).

Kept in the database, so it survives restarts and holds for every node. Only the API is off: running
turns, jobs, deliveries and deadlines go on, and so do the health routes, file links and web pages.
"""

from __future__ import annotations

from agentpost.db import meta
from agentpost.services.context import House

_SWITCH = "maintenance"


async def switch(house: House, *, on: bool) -> None:
    """Switch the API off (``on``: maintenance) or on again; servers notice within a second."""
    await house.db.write(lambda tx: meta.put(tx, _SWITCH, "on" if on else "off"))


async def look(house: House) -> None:
    """Bring ``house.unavailable`` up to date."""
    house.unavailable = await house.db.read(lambda tx: meta.get(tx, _SWITCH)) == "on"
