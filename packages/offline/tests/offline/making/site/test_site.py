"""A page of one table: a dashboard that loads nothing, and shows rows only when asked for."""

import re
from pathlib import Path
from typing import Any

from agentpost_offline.frame import Thing
from tests.agents.fakes import file
from tests.offline.making import stories


async def page(folder: Path, **wish: Any) -> str:
    one = await stories.make(folder, Thing.SITE, [stories.orders(folder)], **wish)
    assert [file.name for file in one.product.files] == ["orders-page.html"]
    return one.main.read_text("utf-8")


async def test_a_dashboard_has_figures_and_charts_and_loads_nothing(tmp_path: Path) -> None:
    text = await page(tmp_path)
    assert text.count('<figure class="chart">') >= 2
    assert '<div class="figures">' in text
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "<script" not in text
    assert all(re.findall(r'<img [^>]*alt="([^"]*)"', text))
    assert text.count("<tr") < 20, "no row of the table is published unasked"


async def test_words_of_a_table_are_text(tmp_path: Path) -> None:
    rows = [f"2025-{m:02d}-01,</style><img src=x onerror=alert({m})>,{m}" for m in range(1, 13)]
    path = tmp_path / "evil.csv"
    path.write_text("\n".join(["date,group,revenue", *rows, "2025-01-02,B,3"]))
    one = await stories.make(tmp_path, Thing.SITE, [file(path, "text/csv")])
    text = one.main.read_text("utf-8")
    assert "onerror=alert(12)&gt;" in text
    assert "<img src=x" not in text


async def test_a_page_is_read_in_the_direction_of_its_language(tmp_path: Path) -> None:
    text = await page(tmp_path, language="ar")
    assert '<html lang="ar" dir="rtl">' in text
    assert "highest" not in text
