"""One server with the tests' agent, and its clients, for each module of the doors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, start_server: Callable[..., AgentServer]) -> AgentServer:
    """The module's server, with its `SETTINGS` where it has some."""
    return start_server(**getattr(request.module, "SETTINGS", {}))


@pytest.fixture(scope="module")
def client(server: AgentServer) -> Iterator[openai.OpenAI]:
    """OpenAI's own client of the module's server; it repeats nothing."""
    url = f"{server.url}/openai/v1"
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def reading_key(server: AgentServer) -> str:
    """A key of the same account that may read only."""
    return server.another_key("reading", "read")


@pytest.fixture(scope="module")
def foreign_key(server: AgentServer) -> str:
    """The key of another account."""
    return server.new_key("foreign")
