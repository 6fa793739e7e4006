"""The order of files on a page, and which of them show their previews at once."""

import mimetypes
from pathlib import PurePosixPath

import pytest

from agentpost.files.views import arrange
from agentpost.record.records import FileRecord

OFFICE = "application/vnd.openxmlformats-officedocument."
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
