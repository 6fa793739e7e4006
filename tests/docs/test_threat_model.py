"""The threat model names code, tests and sections that are there."""

import re

import pytest

from tests.house.tree import AGENTS, DOCS, ROOT, SRC, document

PAGE = document(DOCS / "threat-model.md")
ROWS = re.findall(r"^\| .+ \| .+ \| (.+) \| (.+) \|$", PAGE, re.M)
HEADINGS = set(re.findall(r"^#+ (.+)$", document(DOCS / "design.md"), re.M))


@pytest.mark.parametrize(("where", "tests"), [row for row in ROWS if row[0] != "Where"])
def test_a_defence_has_its_code_and_its_test(where: str, tests: str) -> None:
    named = re.findall(r"`([^`]+)`", tests)
    assert named
    for each in named:
        assert (ROOT / each).exists(), each
    for part in re.split(r"[;,] ", where):
        path = part.strip("`")
        is_code = part.startswith("`") and any((tree / path).exists() for tree in (SRC, AGENTS))
        assert is_code or part in HEADINGS, part


def test_every_defence_is_looked_at() -> None:
    assert len(ROWS) > 25
