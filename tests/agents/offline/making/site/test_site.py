"""Websites from real inputs: their pages, links and data, and what strangers' files cannot do."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File, JobFailed
from agentpost.agents.offline.frame import Style, Thing
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.site import MAKER, checking, rendering
from tests.agents.fakes import FakeJob, file
from tests.agents.offline.making import stories


@pytest.fixture
def files(tmp_path: Path) -> list[File]:
    return [stories.orders(tmp_path), stories.picture(tmp_path)]


async def made(folder: Path, given: list[File], **wish: Any) -> tuple[Made, dict[str, str]]:
    job = FakeJob(folder)
    result = await MAKER.make(job, Inputs(stories.frame(Thing.SITE, given, **wish), tuple(given)))
    assert job.charged == MAKER.credits
    site = next(name for name in job.written if not name.endswith(".png"))
    content = (folder / site).read_bytes()
    if site.endswith(".html"):
        return result, {site: content.decode()}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}
    return result, texts


async def test_a_site_has_a_page_for_each_input(tmp_path: Path, files: list[File]) -> None:
    result, texts = await made(tmp_path, files)
    pages = sorted(name for name in texts if name.endswith(".html"))
    assert pages == [f"orders-site/{name}.html" for name in ("index", "orders", "pictures")]
    assert [one.name for one in result.files] == ["orders-site.zip", "orders-site-preview.png"]
    home = texts["orders-site/index.html"]
    assert all(f'href="{name}.html"' in home for name in ("orders", "pictures"))
    assert home.count('role="img"') >= 3
    assert "3 pages" in result.text


async def test_every_row_is_on_the_data_page(tmp_path: Path, files: list[File]) -> None:
    _, texts = await made(tmp_path, files[:1])
    page = texts["orders-site/orders.html"]
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert len(data["rows"]) == 240
    assert [column["label"] for column in data["columns"]][-1] == "Revenue"
    assert data["columns"][-1]["sum"]
    assert "<option>East</option>" in page


async def test_one_page_holds_everything_and_loads_nothing(
    tmp_path: Path, files: list[File]
) -> None:
    result, texts = await made(tmp_path, files, style=Style(pages=1))
    (page,) = texts.values()
    assert result.files[0].name == "orders-site.html"
    assert not re.search(r'(?:src|href)="(?!#|data:|https://|mailto:)', page)
    assert 'id="pictures"' in page


async def test_files_cannot_bring_scripts_or_requests(tmp_path: Path, files: list[File]) -> None:
    evil = tmp_path / "evil.csv"
    rows = [f"2025-{m:02d}-01,</script><img src=x onerror=alert({m})>,{m}" for m in range(1, 13)]
    evil.write_text("\n".join(["date,group,revenue", *rows, "2025-01-02,B,3"]))
    _, texts = await made(tmp_path, [file(evil, "text/csv"), *files])
    for name, text in texts.items():
        if name.endswith((".html", ".js")):
            assert "<img src=x" not in text
            assert "alert(1)</script>" not in text
            assert "example.com/pixel" not in text


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh", "ar"])
async def test_sites_speak_the_language_of_the_wish(
    tmp_path: Path, files: list[File], language: str
) -> None:
    _, texts = await made(tmp_path, files[:1], language=language)
    home = texts["orders-site/index.html"]
    assert f'lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"' in home
    english = rendering.rendered("data.html", title="", about="", notes=[], slug="", columns=[],
                                 filters=[], first=[], rows="", texts={"all": "", "find": "Find",
                                 "reset": "Clear", "more": "Show more"})  # fmt: skip
    assert "Show more" in english
    assert "Show more" not in texts["orders-site/orders.html"]


def test_the_check_finds_a_dead_link() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("s/index.html", "<h1>x</h1><a href='gone.html'>y</a>")
    with pytest.raises(JobFailed, match=r"gone\.html"):
        checking.check_zip(buffer.getvalue(), 1)


def test_the_check_finds_a_request() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("s/index.html", "<h1>x</h1><img src='//example.com/x.png'>")
    with pytest.raises(JobFailed):
        checking.check_zip(buffer.getvalue(), 1)


def replace_text(text: str) -> Any:
    """A plan whose title is ``text``."""
    import msgspec

    return msgspec.structs.replace(stories.plan(), title=text)


def test_large_tables_are_cut_and_said(tmp_path: Path) -> None:
    from agentpost.agents.offline.data.dataset import opened
    from agentpost.agents.offline.making.site import building, data_pages
    from agentpost.agents.offline.style import languages

    given = [replace(one, local_path=Path(one.blob)) for one in [stories.orders(tmp_path, 1000)]]
    texts = languages.words(building.TEXTS, "en")
    with pytest.MonkeyPatch.context() as patch, opened(given) as dataset:
        patch.setattr(data_pages, "MOST_ROWS", 100)
        made_page = data_pages.fragment(dataset, dataset.tables[0], "orders", texts, "en")
    assert "Only the first 100 of 1,000 rows" in made_page.body
    assert data_pages.row_count(made_page.body) == 100
