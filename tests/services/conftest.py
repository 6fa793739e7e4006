from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentpost.clock import ManualClock
from agentpost.db import migrate
from agentpost.services.context import House
from tests.servers import Postgres
from tests.services.house import new_account, opened


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
    return fresh(postgres.template("with_schema", migrate.upgrade_postgres))


@pytest.fixture
async def house(tmp_path: Path, clock: ManualClock, schema_url: str | None) -> AsyncIterator[House]:
    """A house on each database."""
    async with opened(tmp_path, clock, schema_url, egress_allow="127.0.0.1/32") as made:
        yield made


@pytest.fixture
async def account(house: House) -> str:
    """The id of its only account."""
    return await new_account(house)
