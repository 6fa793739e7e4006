"""Fixtures every test may use. Servers start when first asked for and are shared by all workers."""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import httpcore2
import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import servers

# Set by the process that runs the tests, inherited by its xdist workers.
RUN_OWNER = "TEST_RUN_OWNER"
# A certificate whose key nobody has. Reading the system's hundred authorities takes 30 ms of CPU
# for each client that is made and each server that connects; tests talk to this machine only.
AUTHORITIES = Path(__file__).with_name("authorities.pem")


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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without looking for garbage: what is collected here, a million objects, stays to the end,
    and to visit it again and again would take a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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


@pytest.fixture
def fresh_postgres(postgres: servers.Postgres) -> Iterator[Callable[..., str]]:
    """`fresh_postgres()` makes an empty database and returns its URL; gone after the test.

    `fresh_postgres(postgres.schema())` gives one that has the tables of a server.
    """
    with ExitStack() as made:

        def fresh(template: str = "template1") -> str:
            return made.enter_context(postgres.database(template))

        yield fresh
