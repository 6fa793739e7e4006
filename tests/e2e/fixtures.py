"""Servers for black-box tests: one per module unless a test starts its own."""

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer

ServerMaker = Callable[..., AgentServer]
NewDatabase = Callable[[ExitStack], dict[str, str]]
SERVERS = pytest.StashKey[list[AgentServer]]()


@pytest.fixture(scope="session")
def new_database() -> NewDatabase:
    """`new_database(until)`: the settings that give one more server a database of its own, which is
    gone when ``until`` closes."""
    return lambda _: {}


@pytest.fixture(scope="module")
def start_server(
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    new_database: NewDatabase,
) -> Iterator[ServerMaker]:
    """`start_server(setting=value, …)` starts one; it runs until the module's tests are done."""
    started: list[AgentServer] = []
    request.node.stash[SERVERS] = started
    databases = ExitStack()

    def start(**settings: object) -> AgentServer:
        home: Path = tmp_path_factory.mktemp("server")
        server = AgentServer(home, **new_database(databases), **settings)
        started.append(server)
        return server.start()

    yield start
    with databases, ExitStack() as ends:  # the servers first
        for server in started:
            if server.process is not None:
                server.send_signal(signal.SIGTERM)  # to all first: they end together
                ends.callback(server.stop)


@pytest.fixture(scope="session")
def plain_server(
    tmp_path_factory: pytest.TempPathFactory, new_database: NewDatabase
) -> Iterator[AgentServer]:
    """One with the default settings, for every module that changes nothing others look at."""
    home = tmp_path_factory.mktemp("plain-server")
    with ExitStack() as until, AgentServer(home, **new_database(until)).start() as server:
        yield server


@pytest.fixture(scope="session")
def offline_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """One with the built-in agent. Its workers load libraries for seconds, so every module that
    talks to that agent talks to this one."""
    home = tmp_path_factory.mktemp("offline-server")
    settings = {"agent": "agentpost_offline:agent", "pool_workers": 2, "running_jobs_max": 1_000}
    with AgentServer(home, **settings).start() as server:
        yield server


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> AgentServer:
    """One with the `SETTINGS` of the module; of a module that has none, that of all of those."""
    settings = getattr(request.module, "SETTINGS", None)
    if settings is None:
        found: AgentServer = request.getfixturevalue("plain_server")
        return found
    start: ServerMaker = request.getfixturevalue("start_server")
    return start(**settings)


@pytest.fixture(scope="module")
def caller(server: AgentServer) -> Iterator[Caller]:
    """The first key of the module's `server`."""
    made = Caller(server)
    yield made
    made.close()


@pytest.fixture
def callers() -> Iterator[Callable[..., Caller]]:
    """`callers(server, key)` makes a client, closed after the test."""
    with ExitStack() as made:

        def make(server: AgentServer, *key: str | None) -> Caller:
            client = Caller(server, *key)
            made.callback(client.close)
            return client

        yield make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its servers logged."""
    report = yield
    module = item.getparent(pytest.Module)
    if report.failed and module is not None:
        used = [v for v in getattr(item, "funcargs", {}).values() if isinstance(v, AgentServer)]
        for server in dict.fromkeys([*module.stash.get(SERVERS, []), *used]):
            report.sections.append(("agentpost serve", server.log_tail()))
    return report
