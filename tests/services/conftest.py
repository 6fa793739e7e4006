"""A wired house without a server: for use cases that a door would only slow down."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost import bootstrap
from agentpost.bootstrap import Parts
from agentpost.clock import ManualClock
from agentpost.settings import load_settings


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def parts(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Parts]:
    """SQLite and a local folder, and a clock that the test moves."""
    settings = load_settings(data_dir=str(tmp_path), secret_key="secret")
    bootstrap.upgrade_database(settings)
    made = await bootstrap.open_house(settings, clock)
    yield made
    await bootstrap.close_house(made)
