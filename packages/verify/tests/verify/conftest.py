from tests.e2e.fixtures import new_database, plain_server, pytest_runtest_makereport, start_server

__all__ = ["new_database", "plain_server", "pytest_runtest_makereport", "start_server"]
