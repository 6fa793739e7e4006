"""What is made from the code is what its script makes of it today; `make generate` makes it all."""

import re
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agentpost.api.app import OPERATIONS
from agentpost.cli.resources import COMMANDS
from tests.house.contract import tool
from tests.house.tree import CLIENT, DOCS, ROOT, document

Script = dict[str, Any]
ELSEWHERE = {"client_typescript"}
"""Scripts whose work the tests of its client look at."""


def rewritten(path: Path, by: str = "page") -> Callable[[Script], dict[Path, str]]:
    """Of a script that writes a part of a page, with this function."""
    return lambda script: {path: script[by](document(path))}


MADE: dict[str, Callable[[Script], dict[Path, str]]] = {
    "client_methods": lambda script: script["files"](),
    "client_models": lambda script: {CLIENT / n: text for n, text in script["files"]().items()},
    "client_sync": lambda script: {
        CLIENT / "_sync" / name: script["text"](name) for name in script["names"]()
    },
    "command_reference": lambda script: {script["PLACE"]: script["page"]()},
    "commands": lambda script: {script["PLACE"]: script["text"]()},
    "contract": rewritten(DOCS / "contract.md", by="updated"),
    "diagrams": lambda script: {
        DOCS / "states" / f"{name}.svg": script["drawn"](name) for name in script["DIAGRAMS"]
    },
    "errors": rewritten(DOCS / "errors.md"),
    "house": rewritten(ROOT / "ARCHITECTURE.md"),
    "openapi": lambda script: {DOCS / "openapi.json": script["text"]()},
    "state_machine": lambda script: {DOCS / "state-machine.md": script["page"]()},
}
"""The files that each script of docs/ makes, with their texts."""


@cache
def script(name: str) -> Script:
    return vars(tool()) if name == "contract" else runpy.run_path(str(DOCS / f"{name}.py"))


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_is_up_to_date(name: str) -> None:
    """A new state needs a place in docs/diagrams.py."""
    made = MADE[name](script(name))
    assert made
    for path, text in made.items():
        assert document(path) == text, f"{path.name}: make generate"


def test_make_generate_runs_every_script() -> None:
    recipe = document(ROOT / "Makefile").partition("\ngenerate:")[2].partition("\n\n")[0]
    scripts = {path.stem for path in DOCS.glob("*.py")}
    assert MADE.keys() | ELSEWHERE == scripts
    assert set(re.findall(r"docs/(\w+)\.py", recipe)) == scripts
    assert "clients/typescript/src/api.ts" in recipe
    assert "packages/server/tests/contract/wire.json" in recipe


def test_an_endpoint_changes_as_its_functions_say() -> None:
    assert set(script("diagrams")["of_endpoints"]()) == {
        ("on", "failing", "attempt failed"),
        ("failing", "on", "attempt succeeded"),
        ("failing", "off: failing", "attempt failed"),
        ("on", "off: manual", "disabled"),
        ("failing", "off: manual", "disabled"),
        ("off: failing", "on", "enabled"),
        ("off: manual", "on", "enabled"),
    }


def test_the_blocking_client_has_what_is_made_and_what_is_written() -> None:
    made = script("client_sync")
    written = {path.name for path in (CLIENT / "_sync").glob("*.py")}
    assert written == {*made["names"](), *made["BY_HAND"]}


def test_each_operation_with_a_command_is_one() -> None:
    words = [each.command.words for each in OPERATIONS if each.command is not None]
    assert words == [each["words"] for each in COMMANDS]
    assert len(set(words)) == len(words)
