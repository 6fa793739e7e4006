"""A test of the API runs on SQLite; one about what a database keeps, in which order, or who hears
of it, is marked ``databases("sqlite", "postgres")``.

The suites of the ports and the tests of the services run on both: what they prove of PostgreSQL is
not proved again for every rule of the door.
"""

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "new_database" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("databases")
        databases = ("sqlite",) if marked is None else marked.args
        metafunc.parametrize("new_database", databases, indirect=True, scope="session")


@pytest.fixture(scope="session")
def new_database(request: pytest.FixtureRequest) -> NewDatabase:
    """See `tests.e2e.fixtures.new_database`."""
    if request.param == "sqlite":
        return lambda _: {}
    postgres: Postgres = request.getfixturevalue("postgres")
    schema = postgres.schema()
    return lambda until: {"database_url": until.enter_context(postgres.database(schema))}
