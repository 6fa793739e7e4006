"""Hostile files: each is read or refused, in bounded memory, by what a worker process runs."""

import contextlib
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from agentpost.agents import File, Unreadable
from agentpost.extraction.reading import text_of
from tests.extraction.apart import run_apart
from tests.extraction.hostile import BOMBS, PAGES, made_small, small_page, smaller_limits

MEMORY_MB = 700
LIBRARIES_MB = 40
PART = 16
"""Office files, their limits and the memory they may take are so many times smaller."""
EIGHTH = 8
"""Pages are an eighth of what they may be, for an eighth of the memory."""
CPU_SECONDS = 3
"""Twenty times what reading one of them takes."""


def read(path: str, name: str, small: bool) -> str:
    """What the reader says about a file, in a process of its own."""
    if small:
        smaller_limits(PART)
    file = File(
        id="f", name=name, content_type="", kind="other", size=1, revision="1", work_id="w",
        local_path=Path(path),
    )  # fmt: skip
    try:
        text_of(file)
    except Unreadable as error:
        return str(error)
    return "read"


def read_quickly(path: str, name: str) -> str:
    """The same within `CPU_SECONDS`, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    return read(path, name, False)


REASONS = {
    "paragraphs.docx": "more than 125,000 elements",
    "deep.docx": "nested too deeply",
    "entities.docx": "damaged",
    "directory.docx": "damaged",
    "nested.docx": "attach the files inside it",
    "styles.xlsx": "more than 31,250 elements",
    "operators.pdf": "too much memory or time",
    "nothing.pdf": "too much memory or time",
    "big.html": "larger than 2 MB",
    "one text.docx": "read",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    data = made_small(name, PART)
    assert len(data) < 10 * 2**20
    blob = tmp_path / "blob"
    blob.write_bytes(data)
    said, memory = run_apart(read, str(blob), name, True, folder=tmp_path)
    # The reader of PDFs has its limits in a process of its own, where they are not smaller.
    most = MEMORY_MB if name.endswith("pdf") else LIBRARIES_MB + MEMORY_MB // PART
    assert memory < most, f"{name} took {memory} MB: {said}"
    assert REASONS.get(name, "") in said


@pytest.mark.parametrize("name", PAGES)
def test_html_is_read_in_one_pass(name: str, tmp_path: Path) -> None:
    """With a quadratic parser any of these runs into the time limit by far."""
    blob = tmp_path / "blob"
    blob.write_bytes(small_page(name, EIGHTH))
    _, memory = run_apart(read_quickly, str(blob), "x.html", folder=tmp_path)
    assert memory < LIBRARIES_MB + MEMORY_MB // EIGHTH


MARKS: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: ">" * n,
    "lists": lambda n: "".join(" " * (2 * i) + "- a\n" for i in range(min(n, 2_000))),
    "brackets": lambda n: "[" * n,
    "stars": lambda n: "*a_" * (n // 3),
    "ticks": lambda n: "".join("`" * i + " " for i in range(int((2 * n) ** 0.5))),
    "links": lambda n: "[a](" * (n // 4),
    "table": lambda n: "|a" * (n // 4) + "\n" + "|-" * (n // 4) + "\n" + "|b" * (n // 4),
    "heading": lambda n: "#" * n,
    "entities": lambda n: "&#x41;" * (n // 6),
}


@pytest.mark.parametrize("name", MARKS)
def test_hostile_markdown_ends_as_a_document(name: str) -> None:
    from agentpost_offline.documents.reading import read_text

    # Marks alone may be no text at all.
    with contextlib.suppress(Unreadable):
        assert read_text(MARKS[name](200_000), "a.md").title
