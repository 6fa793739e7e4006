from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.site import Site, open_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Pages over plain HTTP, a clock that stands still."""
    with open_site(tmp_path) as opened:
        yield opened
