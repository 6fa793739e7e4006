"""Files that the tests of the built-in agent are about."""

from pathlib import Path

import pytest

from agentpost.agents import File
from tests.agents.fakes import file

NOTES = """# Plan

The launch is on 3 March. It needs two vans.

## Costs

The largest cost is the vans, at 900 euros a week. Fuel is included in this price.
"""


@pytest.fixture(scope="session")
def csv(tmp_path_factory: pytest.TempPathFactory) -> File:
    path = tmp_path_factory.mktemp("csv") / "sales.csv"
    rows = [
        f"{year}-{month:02d}-01,{region},{channel},{month * 10},{month * 100},9.5"
        for year in (2024, 2025)
        for month in range(1, 13)
        for region in ("North", "South")
        for channel in ("Online", "Retail")
    ]
    path.write_text("\n".join(["month,region,channel,orders,revenue,unit_price", *rows]))
    return file(path, "text/csv")


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> File:
    path = tmp_path_factory.mktemp("notes") / "notes.md"
    path.write_text(NOTES)
    return file(path, "text/markdown")


@pytest.fixture(scope="session")
def photo(tmp_path_factory: pytest.TempPathFactory) -> File:
    from PIL import Image

    path = tmp_path_factory.mktemp("photo") / "photo.png"
    Image.new("RGB", (40, 30), "red").save(path)
    return file(path, "image/png")


@pytest.fixture
def film(tmp_path: Path) -> File:
    from dataclasses import replace

    path = tmp_path / "film.mp4"
    path.write_bytes(b"\0\0\0\x18ftypmp42")
    return replace(file(path, "video/mp4"), kind="video")
