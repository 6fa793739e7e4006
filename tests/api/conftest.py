from tests.e2e.fixtures import caller, plain_server, pytest_runtest_makereport, start_server

__all__ = ["caller", "plain_server", "pytest_runtest_makereport", "start_server"]
