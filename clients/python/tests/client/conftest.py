from collections.abc import Iterator

import pytest

from tests.client.scripted import Talk, Wire


@pytest.fixture(params=["sync", "async"])
def talk(request: pytest.FixtureRequest) -> Talk:
    """Every rule holds for both clients."""
    return Talk(is_async=request.param == "async")


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()
