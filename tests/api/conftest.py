"""Every test of the API runs on both databases: whatever differs between them is a mistake."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.fixtures import (
    NewDatabase,
    caller,
    callers,
    plain_server,
    pytest_runtest_makereport,
    start_server,
)
from tests.servers import Postgres

__all__ = ["caller", "callers", "plain_server", "pytest_runtest_makereport", "start_server"]


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def new_database(request: pytest.FixtureRequest) -> Iterator[NewDatabase]:
    """See `tests.e2e.fixtures.new_database`."""
    if request.param == "sqlite":
        yield dict
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with ExitStack() as made:
        yield lambda: {"database_url": made.enter_context(postgres.database(postgres.schema()))}
