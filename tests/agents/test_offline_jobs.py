"""The chart and report jobs end to end: real files in, real files out, opened again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File, JobFailed
from agentpost.agents.offline import chart_draw, docx_writer, jobs, limits, pdf_writer
from tests.agents.fakes import Crash, FakeJob, file, said

REPORT = """# Harbour *Review*

Ships were **late**. #eval("1") $x$ @ref <label> \\u{41} stays text.

## Costs

| Item | Euros |
|------|------:|
| Fuel | 1,200 |

1. First
2. Second
   - Nested

```
#let x = read("/etc/passwd")
```

## Outlook

See [the plan](https://example.com) and [this](javascript:alert(1)).
"""


@pytest.fixture
def csv(tmp_path: Path) -> File:
    path = tmp_path / "My Sales.csv"
    rows = [f"2025-{m:02d}-01,{r},{10 * m + n}" for m in range(1, 13) for n, r in enumerate("NS")]
    path.write_text("\n".join(["month,region,revenue_k", *rows]))
    return file(path, "text/csv")


@pytest.fixture
def notes(tmp_path: Path) -> File:
    path = tmp_path / "review.md"
    path.write_text(REPORT)
    return file(path, "text/markdown")


async def test_a_chart_is_drawn_checked_and_described(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path)
    text = await jobs.chart(job, csv, {"wording": ["revenue by month"], "kind": "line"}, 1)
    assert text.startswith("Revenue (k) by month and region, as a line chart: my-sales-chart.png.")
    assert "Read: My Sales.csv (24 rows)." in text
    assert job.charged == 1
    assert job.steps == [
        "Reading My Sales.csv", "Drawing a line chart", "Checking my-sales-chart.png",
    ]  # fmt: skip
    assert job.state["kind"] == "chart"
    assert job.state["files"] == [csv.id]
    json.dumps(job.state)
    assert (tmp_path / "my-sales-chart.png").stat().st_size > 20_000


async def test_a_revised_chart_does_not_overwrite_the_first(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path)
    await jobs.chart(job, csv, {"kind": "bar"}, 2)
    assert list(job.written) == ["my-sales-chart-2.png"]


async def test_a_chart_takes_a_follow_up_that_comes_in_time(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path, mail=[[said("make it a pie chart by region")]])
    text = await jobs.chart(job, csv, {"kind": "line"}, 1)
    assert "Revenue (k) by region, as a pie chart" in text


async def test_a_chart_names_a_follow_up_that_comes_too_late(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path, mail=[[], [said("make it blue")]])
    text = await jobs.chart(job, csv, {"kind": "line"}, 1)
    assert "“make it blue” came too late for this result" in text


async def test_a_table_without_numbers_counts_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("voter,choice\nann,yes\nbob,no\ncat,yes\ndan,yes\neve,no\n")
    text = await jobs.chart(FakeJob(tmp_path), file(path), {"wording": ["chart by choice"]}, 1)
    assert text.startswith("Rows by choice, as a bar chart")


async def test_an_unreadable_table_fails_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "old.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(JobFailed, match=r"old.xlsx is an old or encrypted Excel file"):
        await jobs.chart(FakeJob(tmp_path), file(path), {}, 1)


async def test_a_crash_anywhere_repeats_no_call_and_charges_once(tmp_path: Path, csv: File) -> None:
    whole = FakeJob(tmp_path)
    expected = await jobs.chart(whole, csv, {"kind": "line"}, 1)
    for crash_at in range(len(whole.journal)):
        first = FakeJob(tmp_path, crash_at=crash_at)
        with pytest.raises(Crash):
            await jobs.chart(first, csv, {"kind": "line"}, 1)
        second = FakeJob(tmp_path, journal=first.journal)
        assert await jobs.chart(second, csv, {"kind": "line"}, 1) == expected
        assert first.charged + second.charged == 1
        assert first.ran + second.ran == whole.ran


async def test_a_report_is_written_as_word_and_pdf(tmp_path: Path, notes: File) -> None:
    job = FakeJob(tmp_path)
    text = await jobs.write_report(job, [notes], "", {}, 1)
    assert text.startswith(
        "“Harbour Review” is ready: review-report.docx and review-report.pdf (1 page)."
    )
    assert "Read: review.md (" in text
    assert job.charged == 2
    assert list(job.written) == ["review-report.docx", "review-report.pdf"]


async def test_the_word_file_has_real_structure(tmp_path: Path, notes: File) -> None:
    import docx

    await jobs.write_report(FakeJob(tmp_path), [notes], "", {"formats": ["docx"]}, 1)
    word = docx.Document(str(tmp_path / "review-report.docx"))
    styles = {p.text: p.style.name for p in word.paragraphs if p.style is not None}
    assert styles["Harbour Review"] == "Title"
    assert styles["Costs"] == "Heading 1"
    assert styles["First"] == "List Number"
    assert styles["Nested"] == "List Bullet 2"
    assert [cell.text for cell in word.tables[0].rows[1].cells] == ["Fuel", "1,200"]
    links = [rel.target_ref for rel in word.part.rels.values() if rel.is_external]
    assert links == ["https://example.com"]


async def test_what_users_write_is_never_run_by_the_typesetter(tmp_path: Path, notes: File) -> None:
    import pypdfium2

    await jobs.write_report(FakeJob(tmp_path), [notes], "", {"formats": ["pdf"]}, 1)
    with pypdfium2.PdfDocument(tmp_path / "review-report.pdf") as document:
        page = document[0].get_textpage().get_text_range()
    assert '#eval("1") $x$ @ref <label> \\u{41} stays text.' in " ".join(page.split())
    assert '#let x = read("/etc/passwd")' in page
    assert "root:" not in page


async def test_a_report_from_a_table_has_its_chart(tmp_path: Path, csv: File) -> None:
    import docx

    text = await jobs.write_report(FakeJob(tmp_path), [csv], "", {"title": "Numbers"}, 1)
    assert text.startswith("“Numbers” is ready")
    word = docx.Document(str(tmp_path / "my-sales-report.docx"))
    assert len(word.inline_shapes) == 1
    assert "By region" in [p.text for p in word.paragraphs]


async def test_several_files_become_chapters_and_bad_ones_are_named(
    tmp_path: Path, notes: File, csv: File
) -> None:
    broken = tmp_path / "scan.pdf"
    broken.write_bytes(b"%PDF-1.4 broken")
    job = FakeJob(tmp_path)
    text = await jobs.write_report(job, [notes, csv, file(broken)], "", {"formats": ["pdf"]}, 1)
    assert "“Harbour Review and more” is ready" in text
    assert "Not used: scan.pdf is damaged." in text


async def test_a_report_of_nothing_fails_with_a_reason(tmp_path: Path) -> None:
    broken = tmp_path / "scan.pdf"
    broken.write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(JobFailed, match=r"nothing to report on: scan.pdf is damaged"):
        await jobs.write_report(FakeJob(tmp_path), [file(broken)], "", {}, 1)


async def test_a_report_from_text_needs_no_file(tmp_path: Path) -> None:
    job = FakeJob(tmp_path)
    text = await jobs.write_report(job, [], "One line.\n\n    not code, only indented", {}, 1)
    assert list(job.written) == ["text-report.docx", "text-report.pdf"]
    assert "Read: your text (6 words)." in text


async def test_a_report_survives_a_crash_after_each_call(tmp_path: Path, notes: File) -> None:
    whole = FakeJob(tmp_path)
    expected = await jobs.write_report(whole, [notes], "", {}, 1)
    for crash_at in range(len(whole.journal)):
        first = FakeJob(tmp_path, crash_at=crash_at)
        with pytest.raises(Crash):
            await jobs.write_report(first, [notes], "", {}, 1)
        second = FakeJob(tmp_path, journal=first.journal)
        assert await jobs.write_report(second, [notes], "", {}, 1) == expected
        assert first.charged + second.charged == 2


async def test_a_very_long_text_is_cut_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REPORT_LINES", 3)
    path = tmp_path / "long.md"
    path.write_text("# Long\n\nKept.\n\nLost.")
    text = await jobs.write_report(FakeJob(tmp_path), [file(path)], "", {"formats": ["pdf"]}, 1)
    assert "Note: long.md is cut after 13 characters." in text


@pytest.mark.parametrize(
    "text",
    [
        "مرحبا بالعالم " * 1_000,
        "word " * 3_000,
        "x" * 15_000,
        "a line\n" * 2_000,
        "- item\n" * 2_000,
        "> quoted\n" * 2_000,
    ],
)
def test_no_paragraph_is_longer_than_can_be_typeset(text: str) -> None:
    from agentpost.agents.offline.document import parse

    def lengths(blocks: list[dict[str, Any]]) -> list[int]:
        inner = [b for block in blocks for part in block.get("items", []) for b in part]
        inner += [b for block in blocks for b in block.get("blocks", [])]
        own = [sum(len(run["text"]) for run in block.get("runs", [])) for block in blocks]
        return own + (lengths(inner) if inner else [])

    document = parse(text)
    assert max(lengths(document.blocks)) <= limits.PARAGRAPH_CHARACTERS + 1
    assert "long paragraphs are cut into several" in document.notes
    kept = "".join(document.text().split())
    assert kept == "".join(text.replace("- ", "").replace("> ", "").split())


def test_paragraphs_of_usual_length_and_tables_stay_whole() -> None:
    from agentpost.agents.offline.document import cut_paragraphs, parse

    text = "One line.\nAnother.\n\n" * 1_000 + "|a|b|\n|-|-|\n" + "|x|y|\n" * 2_000
    assert cut_paragraphs(text) == text
    assert len(parse(text).blocks[-1]["rows"]) == 2_000


def test_tables_are_cut_after_a_number_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentpost.agents.offline.document import parse

    monkeypatch.setattr(limits, "REPORT_CELLS", 8)
    table = "|a|b|\n|-|-|\n" + "|x|y|\n" * 3
    document = parse(f"{table}\n- in a list\n\n{table}\nEnd.")
    tables = [block for block in document.blocks if block["type"] == "table"]
    assert [len(found["rows"]) for found in tables] == [3]
    assert "tables are cut after 8 cells" in document.notes
    assert document.blocks[-1]["runs"][0]["text"] == "End."


async def test_characters_no_font_has_are_reported(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cuneiform.md"
    path.write_text("# Tablet\n\nThe sign \U00012000\U00012001 means water, Ω and Ж are fine.")
    text = await jobs.write_report(FakeJob(tmp_path), [file(path)], "", {"formats": ["pdf"]}, 1)
    assert "no font here can show \U00012000\U00012001 (2 characters)" in text


# The checks must refuse what is broken, or "done" would mean nothing.


def written(path: Path, content: bytes) -> File:
    from dataclasses import replace

    path.write_bytes(content)
    return replace(file(path), local_path=path)


def png(size: tuple[int, int], color: str) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x89PNG\r\n\x1a\n cut", "damaged"),
        (png((1600, 900), "white"), "blank"),
        (png((20, 10), "red"), "20 × 10"),
    ],
)
def test_the_chart_check_refuses_broken_pictures(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(JobFailed, match=why):
        chart_draw.check(written(tmp_path / "a.png", content))


def test_the_document_checks_refuse_broken_files(tmp_path: Path) -> None:
    from agentpost.agents.offline.document import parse

    document = parse("# Title\n\n## One\n\nText.")
    good: dict[str, Any] = {"docx": docx_writer.build(document), "pdf": pdf_writer.build(document)}
    word = written(tmp_path / "a.docx", good["docx"])
    assert docx_writer.check(word, ["One"])["paragraphs"] == 3
    with pytest.raises(JobFailed, match="other headings"):
        docx_writer.check(word, ["One", "Two"])
    with pytest.raises(JobFailed, match="damaged"):
        docx_writer.check(written(tmp_path / "b.docx", good["docx"][:500]), ["One"])
    assert pdf_writer.check(written(tmp_path / "a.pdf", good["pdf"]), "Title") == {"pages": 1}
    with pytest.raises(JobFailed, match="damaged"):
        pdf_writer.check(written(tmp_path / "b.pdf", good["pdf"][:300]), "Title")
    with pytest.raises(JobFailed, match="title"):
        pdf_writer.check(written(tmp_path / "a.pdf", good["pdf"]), "Zebra 99")
