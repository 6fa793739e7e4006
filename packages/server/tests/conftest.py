"""What tests of the server share: servers to talk to, one context, one site of pages.

A test that talks to a server runs on SQLite; one about what a database keeps, in which order, or
who hears of it, is marked ``databases("sqlite", "postgres")``. The suites of the ports and tests
of the use cases run on both: what they prove of PostgreSQL is not proved again for each rule of the
door.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.fixtures import (
    NewDatabase,
    caller,
    callers,
    plain_server,
    pytest_runtest_makereport,
    start_server,
)
from tests.e2e.server import AgentServer
from tests.harness.context import Harness, open_harness
from tests.harness.databases import account, clock, ctx, schema_url
from tests.harness.driver import ManualHarness, manual_harness
from tests.servers import Postgres
from tests.web.site import Site, open_site

__all__ = [
    "account",
    "caller",
    "callers",
    "clock",
    "ctx",
    "plain_server",
    "pytest_runtest_makereport",
    "schema_url",
    "start_server",
]


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


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, new_database: NewDatabase) -> AgentServer:
    """See `tests.e2e.fixtures.server`; on each database of the module."""
    wanted = "start_server" if hasattr(request.module, "SETTINGS") else "plain_server"
    found = request.getfixturevalue(wanted)
    server: AgentServer = found(**request.module.SETTINGS) if callable(found) else found
    return server


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[ManualHarness]:
    """A context whose turns and jobs the test itself goes through."""
    async with manual_harness(tmp_path) as made:
        yield made


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    """A context with 100 credits, whose one endpoint listens to every event."""
    async with open_harness(tmp_path) as harness:
        yield harness


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Pages over plain HTTP, a clock that stands still."""
    with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
def browser(site: Site) -> Iterator[httpx2.Client]:
    """Signed in to the site as the owner of its account."""
    with site.browser() as opened:
        yield opened


@pytest.fixture
def stranger(site: Site) -> Iterator[httpx2.Client]:
    """A browser that is not signed in."""
    with site.stranger() as opened:
        yield opened
