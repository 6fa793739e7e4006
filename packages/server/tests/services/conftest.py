"""One context for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.harness import Harness, open_harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    """A context with 100 credits, whose one endpoint listens to every event."""
    async with open_harness(tmp_path) as harness:
        yield harness
