import pytest

from tests.client.scripted import Talk


@pytest.fixture(params=["sync", "async"])
def talk(request: pytest.FixtureRequest) -> Talk:
    """Every rule holds for both clients."""
    return Talk(is_async=request.param == "async")
