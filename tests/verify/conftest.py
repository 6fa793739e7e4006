from tests.e2e.fixtures import plain_server, pytest_runtest_makereport, start_server

__all__ = ["plain_server", "pytest_runtest_makereport", "start_server"]
