"""`docs/state-machine.md` and its pictures are what their scripts make of today's tables."""

import runpy
from typing import Any

import pytest

from tests.house.tree import DOCS, document

DIAGRAMS: dict[str, Any] = runpy.run_path(str(DOCS / "diagrams.py"))


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "state_machine.py"))["page"]()
    assert document(DOCS / "state-machine.md") == made, "run `make generate`"


@pytest.mark.parametrize("name", DIAGRAMS["DIAGRAMS"])
def test_a_picture_is_up_to_date(name: str) -> None:
    """A new state needs a place in docs/diagrams.py."""
    assert document(DOCS / "states" / f"{name}.svg") == DIAGRAMS["drawn"](name), "`make generate`"


def test_an_endpoint_changes_as_its_functions_say() -> None:
    assert set(DIAGRAMS["of_endpoints"]()) == {
        ("on", "failing", "attempt failed"),
        ("failing", "on", "attempt succeeded"),
        ("failing", "off: failing", "attempt failed"),
        ("on", "off: manual", "disabled"),
        ("failing", "off: manual", "disabled"),
        ("off: failing", "on", "enabled"),
        ("off: manual", "on", "enabled"),
    }
