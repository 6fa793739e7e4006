"""The house that the tests of runs share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.context import AppContext
from tests.runtime.running import Running, running


@pytest.fixture
async def here(ctx: AppContext, tmp_path: Path) -> AsyncIterator[Running]:
    """A running house on each database."""
    async with running(ctx, tmp_path) as made:
        yield made
