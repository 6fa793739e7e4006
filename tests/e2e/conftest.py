from tests.e2e.fixtures import (
    caller,
    callers,
    new_database,
    offline_server,
    plain_server,
    pytest_runtest_makereport,
    server,
    start_server,
)
from tests.e2e.hooks import hooks, receivers

__all__ = [
    "caller",
    "callers",
    "hooks",
    "new_database",
    "offline_server",
    "plain_server",
    "pytest_runtest_makereport",
    "receivers",
    "server",
    "start_server",
]
