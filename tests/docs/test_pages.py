"""The pages in `docs/` are read in their order, each from a fresh folder, and it all happens.

Programs that need more than a folder and a server have tests of their own beside this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentpost.serving.welcome import SAMPLE
from tests.docs.reader import Reader
from tests.docs.snippets import Command, blocks
from tests.house.tree import DOCS, ROOT

SALES = f"printf '{SAMPLE.encode('unicode_escape').decode()}' > sales.csv"
NOTES = 'for i in $(seq 100); do echo "Guest $i liked the room. The breakfast was late."; done'


@dataclass(frozen=True)
class Reading:
    """What a page takes for granted, what is not run of it and why, and what ends otherwise."""

    before: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)
    ports: tuple[str, ...] = ("8080",)


SERVE = "agentpost serve"
ACTIVATE = "source .venv/bin/activate"
PAGES = {
    "settings.md": Reading(
        before=(ACTIVATE,), codes={"AGENTPOST_PORT=99999 agentpost config show": 1}
    ),
    "agents.md": Reading(
        before=(ACTIVATE,),
        codes={'agentpost send "Add this up" --file sales.csv --conversation eve': 3},
        ports=("8080", "8081"),
    ),
    "agents-testing.md": Reading(apart={"python -m pytest": "test_agents_page.py runs the test"}),
    "api.md": Reading(before=(ACTIVATE, SERVE)),
    "doors.md": Reading(before=(ACTIVATE, SALES, SERVE)),
    "cli.md": Reading(
        before=(ACTIVATE, SALES, f"{{ {NOTES}; }} > interviews.txt"),
        apart={
            "agentpost listen": "it runs until it is stopped; test_listen.py does it",
            "agentpost trigger": "nobody listens there; test_listen.py",
            "agentpost requests": "the first runs until it is stopped; test_listen.py",
            "agentpost verify": "packages/verify/tests and test_verify.py are about nothing else",
            "agentpost login": "it asks on a terminal; test_profiles.py tries it",
            "agentpost jobs": "no job waits for its code; tests/e2e/test_changed_code.py does it",
            "agentpost chat": "it talks on a terminal; test_terminal.py runs it",
            "agentpost profiles": "there are none: nobody logged in",
        },
        codes={"agentpost serve --port 9000": 1, "agentpost keys lst": 2},
        ports=("8080", "9000"),
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_it_happens_as_it_is_written(name: str, tmp_path: Path) -> None:
    reading = PAGES[name]
    with Reader(tmp_path, reading.ports) as reader:
        for text in reading.before:
            reader.run(Command(text, ()))
        for command in reader.read(DOCS / name, reading.apart):
            reader.run(command, reading.codes.get(command.text, 0))


def test_no_page_has_commands_that_nobody_runs() -> None:
    """Those of the README run in `test_readme.py`, the tutorial's in `test_tutorial.py`, the
    recipes' in `test_recipes.py`. What is shown
    to be typed begins with "$ "."""
    pages = [*ROOT.glob("*.md"), *DOCS.glob("*.md")]
    with_commands = {p.name for p in pages if any(block.commands for block in blocks(p))}
    assert with_commands == {*PAGES, "README.md", "tutorial.md"}


def test_a_program_has_a_test_that_runs_it() -> None:
    """By the name of its file, which is in its first line (`test_every_block.py`)."""
    pages = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(DOCS / "recipes").glob("*.md")]
    named = {b.file for p in pages for b in blocks(p) if b.kind == "python" and b.file}
    assert {"hooks_fastapi.py", "hooks_aws_lambda.py"} <= named
    named -= {name for name in named if name.startswith("hooks_")}  # test_webhook_programs.py
    run = "\n".join(p.read_text("utf-8") for p in Path(__file__).parent.glob("*.py"))
    shown = "\n".join(c.text for p in pages for b in blocks(p) for c in b.commands)
    text = run + shown
    assert [f for f in named if f not in text and f"{f.removesuffix('.py')}:" not in text] == []
