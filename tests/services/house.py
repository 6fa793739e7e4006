"""A wired house without a server: use cases run on a clock that a test moves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agentpost.clock import ManualClock
from agentpost.db import migrate
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database
from agentpost.db.sqlite import SqliteDatabase
from agentpost.engine.local import LocalEngine
from agentpost.services import accounts
from agentpost.services.context import House
from agentpost.services.links import SignedLinks
from agentpost.settings import load_settings
from agentpost.storage.local import LocalStorage
from agentpost.storage.signing import CursorSigner, LinkSigner
from agentpost.wakeups.memory import MemoryWakeups
from agentpost.webhooks.addresses import AllowList
from agentpost.webhooks.egress import Egress


@asynccontextmanager
async def opened(
    folder: Path, clock: ManualClock, postgres_url: str | None = None, **given: object
) -> AsyncIterator[House]:
    """A house on SQLite in ``folder``, or on an empty PostgreSQL database."""
    settings = load_settings(data_dir=str(folder), **given)
    db: Database
    if postgres_url is None:
        await asyncio.to_thread(migrate.upgrade_sqlite, folder / "agentpost.db")
        db = SqliteDatabase(folder / "agentpost.db")
    else:
        await asyncio.to_thread(migrate.upgrade_postgres, postgres_url)
        db = PostgresDatabase(postgres_url)
    house = House(
        settings=settings,
        clock=clock,
        db=db,
        storage=LocalStorage(folder / "blobs"),
        wakeups=MemoryWakeups(),
        engine=LocalEngine("node_test"),
        egress=Egress(AllowList.parse(settings.egress_allow)),
        links=SignedLinks(
            LinkSigner(b"secret", settings.public_file_url),
            clock,
            app_url=settings.public_app_url,
            link_seconds=settings.link_seconds,
        ),
        cursors=CursorSigner(b"secret"),
        node="node_test",
    )
    await asyncio.to_thread(db.open)
    try:
        yield house
    finally:
        await house.egress.aclose()
        await house.storage.aclose()
        await asyncio.to_thread(db.close)


async def new_account(house: House, email: str = "owner@example.com") -> str:
    """The id of a new account."""
    return (await accounts.create(house, email, "Owner")).id
