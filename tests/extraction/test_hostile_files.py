"""Hostile files: each is read or refused, in bounded memory, by what a worker process runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import Unreadable
from tests.extraction.hostile import BOMBS, PAGES

MEMORY_MB = 700
SECONDS_MAX = 120.0
"""A bound for a test that hangs; what is measured is memory."""

CHILD = """
import json, resource, sys
from pathlib import Path
from agentpost.agents import File, Unreadable
from agentpost.extraction.reading import text_of

path, *names = sys.argv[1:]
found = {}
for name in names:
    file = File(id="f", name=name, content_type="", kind="other", size=1, revision="1",
                work_id="w", local_path=Path(path))
    try:
        text_of(file)
        found[name] = "read"
    except Unreadable as error:
        found[name] = str(error)
most = max(resource.getrusage(who).ru_maxrss
           for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([found, most]))
"""


def read_apart(blob: Path, name: str) -> tuple[str, int]:
    """What a process of its own says about the file, and the most memory it had, in MB.

    The process starts from a small one: Linux hands the peak of a process on to its children.
    """
    start = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, sys.executable, "-c", CHILD, str(blob), name],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr  # an unforeseen exception would be in the log
    answer: tuple[dict[str, Any], int] = json.loads(done.stdout)
    unit = 1 if sys.platform == "darwin" else 1024
    return str(answer[0][name]), answer[1] * unit // 2**20


REASONS = {
    "paragraphs.docx": "more than 2,000,000 elements",
    "deep.docx": "nested too deeply",
    "entities.docx": "damaged",
    "directory.docx": "damaged",
    "nested.docx": "attach the files inside it",
    "styles.xlsx": "more than 500,000 elements",
    "operators.pdf": "too much memory or time",
    "nothing.pdf": "too much memory or time",
    "big.html": "larger than 2 MB",
    "one text.docx": "read",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    data = BOMBS[name]()
    assert len(data) < 10 * 2**20
    blob = tmp_path / "blob"
    blob.write_bytes(data)
    said, memory = read_apart(blob, name)
    assert memory < MEMORY_MB, f"{name} took {memory} MB: {said}"
    assert REASONS.get(name, "") in said


@pytest.mark.parametrize("name", PAGES)
def test_html_is_read_in_one_pass(name: str, tmp_path: Path) -> None:
    """With a quadratic parser any of these runs into the time limit by far."""
    blob = tmp_path / "blob"
    blob.write_bytes(PAGES[name]())
    _, memory = read_apart(blob, "x.html")
    assert memory < MEMORY_MB


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
    from agentpost.agents.offline.documents.reading import read_text

    # Marks alone may be no text at all.
    with contextlib.suppress(Unreadable):
        assert read_text(MARKS[name](200_000), "a.md").title
