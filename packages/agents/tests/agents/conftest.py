"""What tests of agents share: a stub in place of a model's provider, and servers."""

from collections.abc import Iterator

import pytest

from tests.agents.llm.openai_stub import OpenAIStub, openai_stub
from tests.e2e.fixtures import caller, new_database, pytest_runtest_makereport, start_server

__all__ = ["caller", "new_database", "pytest_runtest_makereport", "start_server"]


@pytest.fixture(scope="module")
def stub() -> Iterator[OpenAIStub]:
    with openai_stub() as made:
        yield made
