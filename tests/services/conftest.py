"""One context for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.house import Desk, opened


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A context with 100 credits, whose one endpoint listens to every event."""
    async with opened(tmp_path) as desk:
        yield desk
