from tests.e2e.fixtures import (
    new_place,
    plain_server,
    pytest_runtest_makereport,
    start_server,
)

__all__ = ["new_place", "plain_server", "pytest_runtest_makereport", "start_server"]
