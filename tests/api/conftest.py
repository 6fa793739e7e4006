from collections.abc import Iterator

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import callers, pytest_runtest_makereport, start_server
from tests.e2e.server import AgentServer

__all__ = ["caller", "callers", "pytest_runtest_makereport", "start_server"]


@pytest.fixture(scope="module")
def caller(server: AgentServer) -> Iterator[Caller]:
    """The first key of the module's `server`."""
    made = Caller(server)
    yield made
    made.close()
