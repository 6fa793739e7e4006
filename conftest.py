"""Fixtures every test may use. Servers start when first asked for and are shared by all workers."""

import gc
import os
import re
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import httpcore2
import httpx2
import pytest
import structlog
from execnet import XSpec
from hypothesis import HealthCheck, settings

from tests import parallel, servers
from tests.waiting import PATIENCE

# Set by the process that runs the tests, inherited by its xdist workers.
RUN_OWNER = "TEST_RUN_OWNER"
ROOT = Path(__file__).parent
LONG: tuple[str | tuple[str, ...], ...] = (
    "packages/server/tests/web/browser",
    "packages/server/tests/api/test_schemathesis.py",
    "packages/server/tests/doors/test_worst_bodies.py",
    "tests/e2e/test_failover.py",
    "tests/docs/test_pages.py",
    "clients/typescript/tests/client_typescript/test_client.py",
    (
        "tests/e2e/test_hostile_inputs.py",
        "tests/e2e/test_built_in_agent.py",
    ),
    "tests/e2e/test_poison.py",
    "packages/server/tests/record/test_record_property.py",
    "tests/chaos/test_chaos.py",
    "tests/docs/test_readme.py",
    "tests/docs/test_site.py",
    "tests/e2e/test_postgres.py",
    "packages/verify/tests/verify/test_deployments.py",
    "tests/e2e/test_isolation.py",
    "tests/e2e/test_dead_stores.py",
    "tests/simulation/test_simulation.py",
    "tests/e2e/test_stop.py",
    "tests/docs/test_tutorial.py",
    "tests/house",
)
"""Files with tests that take ten seconds or more, the longest first; and what goes to one worker,
since its tests share what takes seconds to have: a browser, a server with the built-in agent, the
syntax trees of all files."""
# A certificate whose key nobody has. Reading the system's hundred authorities takes 30 ms of CPU
# for each client that is made and each server that connects; tests talk to this machine only.
AUTHORITIES = ROOT / "tests" / "authorities.pem"


# By default Hypothesis fails an example that takes 200 ms, and draws that take seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("patient")
    # The processes that tests start would compile every module anew, which takes two seconds each.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["SSL_CERT_FILE"] = str(AUTHORITIES)
    os.environ.pop("SSL_CERT_DIR", None)
    # Clients with trust_env=False do not look at the variable.
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)
    # Five seconds, which a call has that names no timeout, are too few on a busy machine.
    for phase in ("connect", "read", "write", "pool"):
        setattr(httpx2._config.DEFAULT_TIMEOUT_CONFIG, phase, PATIENCE)
    # A shell starts background jobs with Ctrl-C ignored, and programs inherit that: those that the
    # tests interrupt would not hear it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # What is logged without a server is shown plainly: by default each traceback is drawn in colour
    # with the values of all variables, which takes a tenth of a second.
    plain = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    structlog.configure([*structlog.get_config()["processors"][:-1], plain])
    if hasattr(config, "workerinput"):
        return
    run_dir = servers.new_run_dir()
    os.environ[servers.RUN_DIR] = str(run_dir)
    os.environ[RUN_OWNER] = str(os.getpid())
    config.add_cleanup(lambda: servers.end_run(run_dir))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[XSpec]) -> None:
    """The workers of a parallel run are forked from a process that has imported the tests."""
    parallel.fork_workers(config, specs, servers.run_dir() / "workers")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without looking for garbage: what is collected here, a million objects, stays to the end,
    and to visit it again and again would take a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)  # tests are short: by default a fiftieth is spent on it
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker of a parallel run begins with a share of what takes longest."""
    workers = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    if workers > 1:
        items[:] = long_first(items, workers)


def long_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The same items in another order; those of a file stay together.

    The workers begin with equal parts of the list, in its order, and one that has done its own
    takes from the end of another's. What stands first in a part is under way early, so that a run
    does not end with one long test on one worker.
    """
    numbers = {
        ROOT / name: number
        for number, names in enumerate(LONG)
        for name in ((names,) if isinstance(names, str) else names)
    }
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    short: list[pytest.Item] = []

    def number_of(item: pytest.Item) -> int | None:
        return numbers.get(item.path, numbers.get(item.path.parent))

    for item in items:
        number = number_of(item)
        (short if number is None else shares[number % workers]).append(item)
    ordered: list[pytest.Item] = []
    for number, share in enumerate(shares):
        share.sort(key=lambda item: number_of(item) or 0)
        size = max((len(items) - len(ordered)) // (workers - number) - len(share), 0)
        ordered += share + short[:size]
        del short[:size]
    return ordered + short


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Without keywords, which nobody reads: workers write them and their parent reads them three
    times a test, which would take a sixth of what a test costs that does nothing."""
    report = yield
    if report.passed:
        report.keywords = {}
    return report


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> servers.Postgres:
    """The run's PostgreSQL. `with postgres.database() as url` serves a fixture of any scope."""
    return servers.shared_postgres(servers.run_dir(), int(os.environ[RUN_OWNER]))


@pytest.fixture(scope="session")
def postgres_url(postgres: servers.Postgres) -> str:
    """Address of the maintenance database: for making databases, not for keeping tables."""
    return postgres.url()


_FOLDERS = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own. pytest's makes a link beside each, and looks for the last one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_FOLDERS)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def fresh_postgres(postgres: servers.Postgres) -> Iterator[Callable[..., str]]:
    """`fresh_postgres()` makes an empty database and returns its URL; gone after the test.

    `fresh_postgres(postgres.schema())` gives one that has the tables of a server.
    """
    with ExitStack() as made:

        def fresh(template: str = "template1") -> str:
            return made.enter_context(postgres.database(template))

        yield fresh
