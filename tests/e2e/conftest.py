from tests.e2e.fixtures import (
    caller,
    callers,
    plain_server,
    pytest_runtest_makereport,
    start_server,
)

__all__ = ["caller", "callers", "plain_server", "pytest_runtest_makereport", "start_server"]
