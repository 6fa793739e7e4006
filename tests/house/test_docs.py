"""Every setting and reason is documented, and nothing is documented that is not there.

A page or module that does not exist fails these tests: documentation is part of the thing. What is
made from the code, such as the reference of commands and the page of errors: `test_generated.py`.
"""

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module

import pytest

from agentpost.contract import reasons
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import TurnFailure
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason
from tests.house.tree import DOCS, ROOT, SRC, document

DEFAULTS = SRC / "defaults.toml"


def settings() -> set[str]:
    fields: dict[str, object] = import_module("agentpost.settings").Settings.model_fields
    return set(fields)


def test_every_setting_has_a_default_and_every_default_a_setting() -> None:
    defaults = set(tomllib.loads(document(DEFAULTS)))
    assert sorted(settings() - defaults) == [], "no default"
    assert sorted(defaults - settings()) == [], "no such setting"


def test_every_default_is_explained() -> None:
    """A setting stands below a comment, or below another one that shares it."""
    before = ""
    bare = []
    for line in document(DEFAULTS).splitlines():
        if re.match(r"[a-z_]+ *=", line) and (not before.strip() or before.startswith("# ---")):
            bare.append(line)
        before = line
    assert bare == []


@pytest.mark.parametrize(
    ("enumeration", "table"),
    [
        (Reason, reasons.REASONS),
        (TurnFailure, reasons.TURN_FAILURES),
        (DisabledReason, reasons.DISABLED_REASONS),
        (DeliveryStatus, reasons.DELIVERY_STATUSES),
    ],
)
def test_every_reason_says_what_to_do(
    enumeration: type[StrEnum], table: Mapping[StrEnum, reasons.Meaning]
) -> None:
    assert set(table) == set(enumeration)
    assert [name for name, row in table.items() if not (row.meaning and row.advice)] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT).as_posix()}: {link}"
        for page in pages
        for link in re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", document(page))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_blocks_of_code_begin_and_end_on_lines_of_their_own() -> None:
    """Whatever wraps the text of a page must leave them alone."""
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md")]:
        fences = [line for line in document(page).splitlines() if "```" in line]
        assert [line for line in fences if not line.lstrip().startswith("```")] == [], page
        assert len(fences) % 2 == 0, page


CHANGELOG_LINES_MAX = 150


def test_the_changelog_is_short() -> None:
    """Git keeps both sides of this file in a merge: a rebase over a rewrite of it brings old lines
    back. Take the file of main then, and add your line to it."""
    parts = document(ROOT / "CHANGELOG.md").split("\n## [")
    lengths = {part.split("]")[0]: len(part.splitlines()) for part in parts[1:]}
    assert {name: size for name, size in lengths.items() if size > CHANGELOG_LINES_MAX} == {}
