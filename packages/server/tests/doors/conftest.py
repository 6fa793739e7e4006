"""One server with the tests' agent for each module of the doors."""

from collections.abc import Callable

import pytest

from tests.e2e.server import ACCOUNT, AgentServer


@pytest.fixture(scope="module")
def server(start_server: Callable[..., AgentServer]) -> AgentServer:
    """The module's server."""
    return start_server()


@pytest.fixture(scope="module")
def second_key(server: AgentServer) -> str:
    """Another key of the first key's account."""
    made: str = server.command("keys", "create", "--account", ACCOUNT, "--name", "second")["key"]
    return made


@pytest.fixture(scope="module")
def reading_key(server: AgentServer) -> str:
    """A key of the same account that may read only."""
    named = ("--account", ACCOUNT, "--name", "reading", "--scopes", "read")
    made: str = server.command("keys", "create", *named)["key"]
    return made


@pytest.fixture(scope="module")
def foreign_key(server: AgentServer) -> str:
    """The key of another account."""
    return server.new_key("foreign")
