"""A page of one table: a dashboard that loads nothing, and shows rows only when asked for."""

import re
from pathlib import Path

import pytest

from agentpost_offline.frame import Style, Thing
from agentpost_offline.making.catalogue import MAKERS
from agentpost_offline.making.maker import Inputs
from tests.agents.fakes import FakeJob, file
from tests.agents.offline.making import stories


async def page(folder: Path, *, style: Style | None = None, language: str = "en") -> str:
    source = stories.orders(folder)
    job = FakeJob(folder)
    frame = stories.frame(Thing.SITE, [source], style=style, language=language)
    result = await MAKERS[Thing.SITE].make(job, Inputs(frame, (source,)))
    assert job.charged == MAKERS[Thing.SITE].credits
    assert [one.name for one in result.files] == ["orders-page.html"]
    return (folder / "orders-page.html").read_text("utf-8")


async def test_a_dashboard_has_figures_and_charts_and_loads_nothing(tmp_path: Path) -> None:
    text = await page(tmp_path)
    assert text.count('<figure class="chart">') >= 2
    assert '<div class="figures">' in text
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "<script" not in text
    assert all(re.findall(r'<img [^>]*alt="([^"]*)"', text))
    assert text.count("<tr") < 20, "no row of the table is published unasked"


async def test_rows_are_shown_when_they_are_asked_for(tmp_path: Path) -> None:
    text = await page(tmp_path, style=Style(options={"rows": True}))
    assert text.count("<tr") > 240


async def test_words_of_a_table_are_text(tmp_path: Path) -> None:
    rows = [f"2025-{m:02d}-01,</style><img src=x onerror=alert({m})>,{m}" for m in range(1, 13)]
    path = tmp_path / "evil.csv"
    path.write_text("\n".join(["date,group,revenue", *rows, "2025-01-02,B,3"]))
    source = file(path, "text/csv")
    frame = stories.frame(Thing.SITE, [source], style=Style(options={"rows": True}))
    await MAKERS[Thing.SITE].make(FakeJob(tmp_path), Inputs(frame, (source,)))
    text = (tmp_path / "evil-page.html").read_text("utf-8")
    assert "onerror=alert(3)&gt;" in text
    assert "<img src=x" not in text


@pytest.mark.parametrize("language", ["de", "zh", "ar"])
async def test_pages_speak_the_language_of_the_wish(tmp_path: Path, language: str) -> None:
    text = await page(tmp_path, language=language)
    direction = "rtl" if language == "ar" else "ltr"
    assert f'<html lang="{language}" dir="{direction}">' in text
    assert "highest" not in text
