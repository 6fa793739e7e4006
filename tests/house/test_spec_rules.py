"""Every numbered rule of the API's specification has a test that names it.

A test names rules in its docstring, or that of its module or class, as `spec: Section 1, 3-5`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.house.tree import sources

RULES = {
    "What the service does": 6,
    "Message status": 10,
    "createMessage": 6,
    "Authentication": 7,
    "Webhook events": 9,
    "Versioning": 4,
}
"""Section -> how many numbered rules it has."""
SILENT = {
    ("Authentication", 6): "says that rotation of keys and their scopes are not shown",
    ("Versioning", 4): "says that deprecation and other versions are not shown",
}
NAMED = (
    *("getMessage", "listMessageEvents", "recoverMessage", "createUpload", "completeUpload"),
    *("listWork", "getWork", "getFile", "getAccount", "Webhooks", "Retry safety"),
    *("Job and message transitions", "Finality", "Reasons", "Upload states"),
    *(
        "Webhook endpoint states",
        "Message event log",
        "Errors",
        "Limits",
        "Resources",
        "InlineFile",
    ),
)
"""What has rules without numbers."""
NUMBERS = r"[0-9]+(?:(?:-|, | and )[0-9]+)*"


def rules(text: str) -> Iterator[tuple[str, int]]:
    """The numbered rules a docstring names."""
    for said in re.findall(r"spec: [^\"]*", " ".join(text.split())):
        for section in RULES:
            for numbers in re.findall(rf"\b{section} ({NUMBERS})", said):
                yield from ((section, n) for n in _expanded(numbers))


def _expanded(numbers: str) -> Iterator[int]:
    for part in re.split(", | and ", numbers):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def docstrings() -> Iterator[str]:
    for source in sources("tests"):
        if source.path == "tests/house/test_spec_rules.py":
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text and "spec: " in text:
                    yield text


def test_every_numbered_rule_is_tested() -> None:
    named = {rule for text in docstrings() for rule in rules(text)}
    there = {(section, n + 1) for section, count in RULES.items() for n in range(count)}
    assert sorted(there - named - SILENT.keys()) == [], "no test names these"
    assert sorted(named - there) == [], "there are no such rules"
    assert sorted(named & SILENT.keys()) == [], "these rule nothing"


def test_every_other_part_is_tested() -> None:
    texts = [" ".join(text.split()) for text in docstrings()]
    assert [name for name in NAMED if not any(re.search(rf"\b{name}\b", t) for t in texts)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("spec: Message status 1.", {"Message status": [1]}),
        ("Much. (spec: createMessage 1-3; design: 4.7)", {"createMessage": [1, 2, 3]}),
        (
            "spec: Limits, Webhook events 3, 7 and\n    8; Versioning 2.",
            {"Webhook events": [3, 7, 8], "Versioning": [2]},
        ),
        ("Message status 1.", {}),
        ("spec: Limits 7.", {}),
    ],
)
def test_the_check_reads_what_tests_say(text: str, found: dict[str, list[int]]) -> None:
    read = defaultdict(list)
    for section, number in rules(text):
        read[section].append(number)
    assert read == found
