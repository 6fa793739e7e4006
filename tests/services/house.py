"""A wired house without a server: use cases run on a clock that a test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agentpost.bootstrap import close_house, open_house, upgrade_database
from agentpost.clock import ManualClock
from agentpost.services import accounts
from agentpost.services.context import House
from agentpost.settings import load_settings


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock, **settings: object) -> AsyncIterator[House]:
    """A house on SQLite in ``folder``."""
    loaded = load_settings(data_dir=str(folder), **settings)
    upgrade_database(loaded)
    parts = await open_house(loaded, clock)
    try:
        yield parts.house
    finally:
        await parts.house.egress.aclose()
        await close_house(parts)


async def new_account(house: House, email: str = "owner@example.com") -> str:
    """The id of a new account."""
    return (await accounts.create(house, email, "Owner")).id
