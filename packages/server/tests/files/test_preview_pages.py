"""Previews of Office documents, archives and texts: what is shown, and what is said instead; made
apart, so that no account keeps others waiting; the order of files on a page."""

import asyncio
import io
import json
import mimetypes
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import httpx2
import pytest

from agentpost.domain.errors import Overloaded
from agentpost.files import previews
from agentpost.files.previews import Look
from agentpost.files.views import arrange
from agentpost.previews import apart, word_pages
from agentpost.record.records import FileRecord
from tests.chats.test_chat_pages import store_file
from tests.harness.context import Harness
from tests.waiting import eventually_async
from tests.web.site import Site

OFFICE = "application/vnd.openxmlformats-officedocument."
WORD = f"{OFFICE}wordprocessingml.document"
EXCEL = f"{OFFICE}spreadsheetml.sheet"
SLIDES = f"{OFFICE}presentationml.presentation"
ZIP = "application/zip"
DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
EVIL = "<script>alert(1)</script>"


@cache
def document() -> bytes:
    from docx import Document

    made = Document()
    made.add_heading("Findings", 1)
    made.add_paragraph(f"Sales grew. {EVIL}")
    table = made.add_table(2, 2)
    for at, text in enumerate(("month", "revenue", "Jan", "120")):
        table.cell(at // 2, at % 2).text = text
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


@cache
def workbook() -> bytes:
    import xlsxwriter

    written = io.BytesIO()
    with xlsxwriter.Workbook(written) as made:
        sales = made.add_worksheet("Sales")
        for row in range(300):
            sales.write_row(row, 0, ["month", "revenue", EVIL] if not row else [row, row * 1.5])
        made.add_worksheet("Costs & <b>").write_row(0, 0, ["rent", 7])
    return written.getvalue()


@cache
def slides() -> bytes:
    from PIL import Image
    from pptx import Presentation

    made = Presentation()
    picture = io.BytesIO()
    Image.new("RGB", (64, 48), "teal").save(picture, "PNG")
    for title in ("First", f"Second {EVIL}"):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "A point"
    picture.seek(0)
    slide.shapes.add_picture(picture, 0, 0)
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def sheet_of_slides() -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.new("RGB", (1280, 720), "teal").save(written, "JPEG")
    return written.getvalue()


def zip_of(**members: str | bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "/").replace("_", "."), content)
    return written.getvalue()


def site_of_pages() -> bytes:
    front = (
        '<html><head><link rel="stylesheet" href="look.css"><script src="a.js"></script></head>'
        f'<body><h1>Front</h1>{EVIL}<img src="pic.png"><img src="https://evil.example/x.png">'
        '<base href="https://evil.example/"><img src="http://["></body></html>'
    )
    style = "h1 { color: red; background: url('pic.png') url(//evil.example/y.png) }"
    return zip_of(
        s__index_html=front, s__about_html="<p>about</p>", s__look_css=style, s__pic_png=b"PNG"
    )


@pytest.mark.parametrize(
    ("name", "content_type", "make", "shown"),
    [
        ("a.docx", WORD, document, ['class="title">Findings', "<td>120</td>", "&lt;script&gt;"]),
        (
            "a.xlsx",
            EXCEL,
            workbook,
            [
                "Sales",
                "Costs &amp; &lt;b&gt;",
                '<td class="number">73.5</td>',
                "The first 50 rows.",
            ],
        ),
        ("a.pptx", SLIDES, slides, ["First", "A point", 'src="data:image/jpeg;base64,']),
        (
            "b.pptx",
            SLIDES,
            lambda: zip_of(
                ppt__presentation_xml="<p/>",
                ppt__slides__slide1_xml=f"<s {DRAWING}><a:p><a:r><a:t>Only</a:t></a:r></a:p></s>",
                docProps__thumbnail_jpeg=sheet_of_slides(),
            ),
            ['aria-label="Slides of b.pptx"><img src="data:image/jpeg', 'alt="1. Only'],
        ),
        (
            "site.zip",
            ZIP,
            site_of_pages,
            ["<iframe sandbox", "page=s/index.html", ">about.html<", "4 files inside"],
        ),
        ("a.zip", ZIP, lambda: zip_of(a_txt="x", b__c_csv="1"), ["b/c.csv", "2 files inside"]),
        ("a.json", "application/json", lambda: b'{"a":{"b":1}}', ["  &#34;a&#34;: {\n"]),
        ("a.md", "text/markdown", f"*it* {EVIL}".encode, ["<em>it</em>"]),
        ("a.txt", "text/plain", EVIL.encode, ["&lt;script&gt;"]),
        ("a.html", "text/html", EVIL.encode, ["<iframe sandbox src="]),
        ("b.csv", "text/csv", lambda: b"month;<b>\nJan;1\n", ["<td>Jan</td>", "&lt;b&gt;"]),
        ("a.yaml", "application/yaml", lambda: b"a: 1\n", ["a: 1"]),
        (
            "a.csv",
            "text/csv",
            lambda: b"a,b,c\n" + "−1.5,Ann,1 %\n".encode() * 5_000,
            [
                "The first 100 rows.",
                '<th scope="col" class="number">a</th><th scope="col">b</th>',
                '<td class="number">−1.5</td><td>Ann</td><td class="number">1 %</td>',
            ],
        ),
        ("b.docx", WORD, lambda: b"PK\x03\x04broken", ["b.docx is damaged."]),
        ("c.xlsx", EXCEL, document, ["c.xlsx is not a workbook."]),
        ("d.zip", ZIP, lambda: b"", ["d.zip is damaged."]),
    ],
)
def test_what_is_shown(
    site: Site,
    browser: httpx2.Client,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content_type: str,
    make: Callable[[], bytes],
    shown: list[str],
) -> None:
    """Where Office documents cannot be drawn: their texts."""
    monkeypatch.setattr(word_pages, "is_possible", lambda: False)
    path = store_file(site, name, make(), content_type)
    answer = browser.get(path.format("preview"), timeout=60)
    assert answer.status_code == 200
    for text in shown:
        assert text in answer.text
    assert EVIL not in answer.text


@pytest.mark.parametrize(
    ("name", "content_type", "make", "shown"),
    [
        (
            "a.docx",
            WORD,
            document,
            ["<h1>Findings</h1>", "<p>120</p>", "Sales grew. &lt;script&gt;"],
        ),
        ("b.docx", WORD, lambda: b"PK\x03\x04broken", ["b.docx is damaged."]),
        ("c.docx", WORD, slides, ["c.docx is damaged."]),
    ],
)
def test_office_documents_are_drawn(
    site: Site,
    browser: httpx2.Client,
    name: str,
    content_type: str,
    make: Callable[[], bytes],
    shown: list[str],
) -> None:
    """As a page without rights, which runs and loads nothing."""
    path = store_file(site, name, make(), content_type)
    assert (
        f'<iframe sandbox src="{path.format("frame")}' in browser.get(path.format("preview")).text
    )
    answer = browser.get(path.format("frame"), timeout=60)
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert [text for text in shown if text not in answer.text] == []
    assert not [tag for tag in ("<script", "http:", "https:", "url(") if tag in answer.text]


def test_a_page_of_a_zipped_site_brings_what_it_needs(site: Site, browser: httpx2.Client) -> None:
    path = store_file(site, "site.zip", site_of_pages(), ZIP)
    answer = browser.get(path.format("frame") + "?page=s/index.html", timeout=60)
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "color: red" in answer.text
    assert answer.text.count("data:image/png;base64,UE5H") == 2
    for gone in ("evil.example", "<script", "<base", "look.css"):
        assert gone not in answer.text
    for wrong in ("", "?page=s/gone.html", "?page=../index.html", "?page=s/pic.png"):
        assert browser.get(path.format("frame") + wrong, timeout=60).status_code == 404


def test_a_file_that_is_too_large_says_so(
    site: Site, browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "FILE_BYTES_MAX", 3)
    paths = [
        store_file(site, "a.pdf", b"%PDF-", "application/pdf"),
        store_file(site, "a.zip", b"PK..", ZIP),
    ]
    for path in paths:
        assert "too large for a preview" in browser.get(path.format("preview")).text


def test_a_file_that_takes_too_long_is_given_up(
    site: Site, browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_SECONDS_MAX", 0.0)
    path = store_file(site, "a.docx", document(), WORD)
    answer = browser.get(path.format("frame"))
    assert "No preview of a.docx could be made." in answer.text


def test_a_server_that_is_busy_says_when_to_come_back(
    site: Site, browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "_ALL_MAX", 0)
    paths = [store_file(site, "a.docx", document(), WORD).format("frame")]
    paths.append(store_file(site, "a.xlsx", workbook(), EXCEL).format("preview"))
    for path in paths:
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert "Many previews are being made right now. Try again in 10 s." in answer.text


@pytest.mark.parametrize(
    ("name", "content_type", "look"),
    [
        ("a.png", "image/png", Look.PICTURE),
        ("a.svg", "image/svg+xml", Look.TEXT),
        ("a.mp3", "audio/mpeg", Look.AUDIO),
        ("a.mp4", "video/mp4", Look.VIDEO),
        ("a.md", "text/plain", Look.MARKDOWN),
        ("a.md", "application/octet-stream", Look.NONE),
        ("a.py", "text/x-python", Look.TEXT),
        ("a.bin", "application/octet-stream", Look.NONE),
        ("a.docx", WORD, Look.DOCUMENT),
    ],
)
def test_the_type_decides(site: Site, name: str, content_type: str, look: Look) -> None:
    file = replace(site.file(site.work(), name, name), content_type=content_type)
    assert previews.look_of(file) is look


class HeldLooks:
    """What was begun to be looked at; nothing is seen before ``go_on``."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = asyncio.Event()

    async def run(self, arguments: list[str], content: Any, launch: Any) -> bytes:
        """See `apart.run`."""
        self.begun.append(arguments[1])
        await self.go_on.wait()
        return json.dumps({"kind": arguments[0]}).encode()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> HeldLooks:
    held = HeldLooks()
    monkeypatch.setattr(apart, "run", held.run)
    return held


@pytest.fixture
async def archive(harness: Harness) -> FileRecord:
    _, (owned, *_) = await harness.working("report")
    stored = await harness.file(owned, "a.zip")
    return replace(stored, name="mine", content_type="application/zip")


async def test_an_account_that_asks_for_many_does_not_stall_others(
    harness: Harness, archive: FileRecord, looks: HeldLooks
) -> None:
    other = replace(archive, name="other", account_id="acc_other")
    asked = [asyncio.create_task(previews.contents_of(harness.ctx, archive)) for _ in range(30)]
    theirs = asyncio.create_task(previews.contents_of(harness.ctx, other))
    await eventually_async(lambda: "other" in looks.begun, what="the other account's preview")
    assert looks.begun == ["mine", "other"]
    looks.go_on.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, Overloaded) for one in answers) == 24
    assert await theirs == {"kind": "archive"}
    assert await previews.contents_of(harness.ctx, archive) == {"kind": "archive"}


async def test_too_many_of_all_accounts_are_refused(
    harness: Harness, archive: FileRecord, looks: HeldLooks
) -> None:
    files = [replace(archive, account_id=f"acc_{n}") for n in range(25)]
    asked = [asyncio.create_task(previews.contents_of(harness.ctx, one)) for one in files]
    await asyncio.sleep(0)
    looks.go_on.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, Overloaded) for one in answers) == 5


TYPES = {
    ".pptx": f"{OFFICE}presentationml.presentation",
    ".docx": f"{OFFICE}wordprocessingml.document",
    ".xlsx": f"{OFFICE}spreadsheetml.sheet",
    ".md": "text/markdown",
    ".srt": "application/x-subrip",
}


def file(name: str) -> FileRecord:
    suffix = PurePosixPath(name).suffix
    kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return FileRecord("wrk_1", name, "acc_1", name, kind, "other", 1, "r", f"blob_{name}")


@pytest.mark.parametrize(
    ("asked", "written", "opened", "folded"),
    [
        ("Chart it", "c.png c-data.csv c-alt.txt", "c.png c-data.csv", "c-alt.txt"),
        ("Make a site", "s.zip s-preview.png", "s.zip", "s-preview.png"),
        ("A film", "v.mp4 v.srt", "v.mp4", "v.srt"),
        ("Write a report", "r.pdf r.docx", "r.pdf", "r.docx"),
        ("A report as docx", "r.pdf r.docx", "r.docx", "r.pdf"),
        ("An analysis", "log.txt data.csv chart.png", "chart.png data.csv", "log.txt"),
        ("A chart", "chart.png report.pdf", "chart.png report.pdf", ""),
        ("Notes", "notes.md", "notes.md", ""),
        ("Everything", "a.pdf b.pdf c.pdf d.pdf e.png", "a.pdf b.pdf c.pdf", "d.pdf e.png"),
        ("Run it", "out.bin out.txt", "out.txt", "out.bin"),
        ("Nothing", "", "", ""),
    ],
)
def test_what_was_asked_for_comes_first(asked: str, written: str, opened: str, folded: str) -> None:
    found = arrange([file(name) for name in written.split()], asked)
    assert [each.name for each in found.opened] == opened.split()
    assert [each.name for each in found.folded] == folded.split()
