"""ARCHITECTURE.md lists the functions that four requests pass; they pass them, in that order."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT, document

REQUESTS = {
    "A message and its answer": "message",
    "A job with a file": "job",
    "A webhook to its receiver": "webhook",
    "An upload": "upload",
}
"""Headings of the page, and the requests of `tests/e2e/ways.py`."""


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """For each request the functions that it passed."""
    command = [sys.executable, "-m", "tests.e2e.ways", str(tmp_path_factory.mktemp("ways"))]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.stdout, run.stderr
    requests: dict[str, list[str]] = json.loads(run.stdout)
    return requests


@pytest.mark.parametrize("heading", REQUESTS)
def test_a_request_passes_the_functions_of_the_page_in_order(
    heading: str, passed: dict[str, list[str]]
) -> None:
    section = document(Path(ROOT / "ARCHITECTURE.md")).partition(f"### {heading}\n")[2]
    listed = re.findall(r"^\d+\. `([^`]+::[^`]+)`", section.partition("\n##")[0], re.M)
    assert len(listed) > 10
    functions = passed[REQUESTS[heading]]
    assert [name for name in listed if name not in functions] == []
    assert sorted(listed, key=functions.index) == listed
