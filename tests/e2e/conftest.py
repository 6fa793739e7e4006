from tests.e2e.fixtures import (
    caller,
    callers,
    new_place,
    plain_server,
    pytest_runtest_makereport,
    start_server,
)

__all__ = [
    "caller",
    "callers",
    "new_place",
    "plain_server",
    "pytest_runtest_makereport",
    "start_server",
]
