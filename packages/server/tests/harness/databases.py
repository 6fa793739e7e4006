"""A wired context on each database, for use cases that read and write beside one another.

The fixtures are those of every test of the server (`conftest.py`).
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentpost.accounts import actions as accounts
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db import migrate
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database
from agentpost.db.sqlite import SqliteDatabase
from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Egress
from agentpost.engine.base import Engine
from agentpost.settings import load_settings
from tests.harness.context import NODE, Harness, open_harness, signed_links, wired
from tests.servers import Postgres, empty_sqlite

ON_SQLITE = pytest.mark.parametrize("schema_url", ["sqlite"], indirect=True)
"""For tests about what happens beside the database: the other one would prove nothing more."""


@asynccontextmanager
async def open_context(
    folder: Path, clock: ManualClock, postgres_url: str | None = None, **given: object
) -> AsyncIterator[AppContext]:
    """A context on SQLite in ``folder``, or on an empty PostgreSQL database."""
    settings = load_settings(data_dir=str(folder), **given)
    db: Database
    if postgres_url is None:
        shutil.copyfile(empty_sqlite(), folder / "agentpost.db")
        db = SqliteDatabase(folder / "agentpost.db")
    else:
        await asyncio.to_thread(migrate.upgrade_postgres, postgres_url)
        db = PostgresDatabase(postgres_url)
    egress, links = Egress(AllowList.parse(settings.egress_allow)), signed_links(settings, clock)
    ctx = wired(settings, clock, db, engine=Engine(NODE), egress=egress, links=links)
    await asyncio.to_thread(db.open)
    try:
        yield ctx
    finally:
        await ctx.egress.aclose()
        await ctx.storage.aclose()
        await asyncio.to_thread(db.close)


async def new_account(ctx: AppContext, email: str = "owner@example.com") -> str:
    """The id of a new account."""
    return (await accounts.create(ctx, email, "Owner")).id


@pytest.fixture
def clock() -> ManualClock:
    """Stands still until the test moves it."""
    return ManualClock()


@pytest.fixture(params=["sqlite", "postgres"])
def schema_url(request: pytest.FixtureRequest) -> str | None:
    """A database with its schema on PostgreSQL, None on SQLite."""
    if request.param == "sqlite":
        return None
    postgres: Postgres = request.getfixturevalue("postgres")
    fresh: Callable[[str], str] = request.getfixturevalue("fresh_postgres")
    return fresh(postgres.schema())


@pytest.fixture
async def ctx(
    tmp_path: Path, clock: ManualClock, schema_url: str | None
) -> AsyncIterator[AppContext]:
    """A context on each database."""
    async with open_context(tmp_path, clock, schema_url, egress_allow="127.0.0.1/32") as made:
        yield made


@pytest.fixture
async def account(ctx: AppContext) -> str:
    """The id of its only account."""
    return await new_account(ctx)


@pytest.fixture
async def harness(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Harness]:
    """The `harness` of every test, on each database: for a module that imports it."""
    async with open_harness(tmp_path, postgres_url=schema_url) as made:
        yield made
