from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.clock import ManualClock
from agentpost.services.context import House
from tests.services.house import new_account, opened


@pytest.fixture
def clock() -> ManualClock:
    """Stands still until the test moves it."""
    return ManualClock()


@pytest.fixture
async def house(tmp_path: Path, clock: ManualClock) -> AsyncIterator[House]:
    """A house on SQLite."""
    async with opened(tmp_path, clock, egress_allow="127.0.0.1/32") as made:
        yield made


@pytest.fixture
async def account(house: House) -> str:
    """The id of its only account."""
    return await new_account(house)
