"""`make generate` makes everything that is made, and what the command line takes is up to date."""

import re
import runpy

from agentpost.api.app import OPERATIONS
from agentpost.cli.resources import COMMANDS
from tests.house.tree import DOCS, ROOT, document


def test_make_generate_runs_every_script() -> None:
    recipe = document(ROOT / "Makefile").partition("\ngenerate:")[2].partition("\n\n")[0]
    scripts = {path.stem for path in DOCS.glob("*.py")}
    assert set(re.findall(r"docs/(\w+)\.py", recipe)) == scripts
    assert "clients/typescript/src/api.ts" in recipe
    assert "packages/server/tests/contract/wire.json" in recipe


def test_each_script_has_a_test_that_its_work_is_up_to_date() -> None:
    tests = [
        *(ROOT / "tests/house").glob("*.py"),
        *(ROOT / "clients").glob("*/tests/client*/test_*.py"),
    ]
    text = "".join(document(path) for path in tests)
    run = {path.stem for path in DOCS.glob("*.py") if f'"{path.stem}.py"' in text}
    assert run == {path.stem for path in DOCS.glob("*.py")}


def test_the_table_of_commands_is_up_to_date() -> None:
    script = runpy.run_path(str(DOCS / "commands.py"))
    assert script["text"]() == document(script["PLACE"]), "python docs/commands.py"


def test_the_reference_of_commands_is_up_to_date() -> None:
    script = runpy.run_path(str(DOCS / "command_reference.py"))
    assert script["page"]() == document(script["PLACE"]), "python docs/command_reference.py"


def test_each_operation_with_a_command_is_one() -> None:
    words = [each.command.words for each in OPERATIONS if each.command is not None]
    assert words == [each["words"] for each in COMMANDS]
    assert len(set(words)) == len(words)
