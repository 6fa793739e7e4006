"""Which modules a command may not import: what the help and a caller wait for is their import.

Modules are named, not seconds, which depend on the machine.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from agentpost.cli import main
from agentpost.cli.commands import _DECLARED, PLACES, Commands
from tests import programs

SERVER = {
    "agentpost.bootstrap",
    "agentpost.server",
    "agentpost.context",
    "agentpost.db.session",
    "agentpost.settings",
    "aiohttp",
    "obstore",
    "psycopg",
    "starlette",
    "structlog",
    "uvicorn",
}
"""What only the server needs."""
COMMAND = {"agentpost_client", "asyncio", "httpcore2", "httpx2", "pydantic", "rich"}
"""What the command that is called may need, but no help."""
EVERY_HELP = """
import sys
from agentpost.cli import app

def helps(words, command):
    print("HELP", *words)
    try:
        app([*words, "--help"])
    except SystemExit as end:
        assert not end.code, words
    for name, below in getattr(command, "commands", {}).items():
        helps([*words, name], below)

import typer.main
helps([], typer.main.get_command(app))
print("MODULES", *sys.modules)
"""


CALLS = """
import json, os, sys
from agentpost.cli import app

for environment, words in json.loads(sys.argv[1]):
    os.environ.update(environment)
    try:
        code = app(words, prog_name="agentpost")
    except SystemExit as end:
        code = end.code or 0
    print("\\nMODULES", code, *sys.modules, "\\nEND")
"""


class Called(NamedTuple):
    """``modules``: that were imported by then."""

    printed: str
    code: int
    modules: set[str]


def call_each(*calls: tuple[dict[str, str], str]) -> list[Called]:
    """What comes of each call, of its environment and words, one after the other in one process."""
    asked = json.dumps([(environment, words.split()) for environment, words in calls])
    environment = {"AGENTPOST_URL": "nowhere", "AGENTPOST_KEY": "k"}
    printed = programs.printed(sys.executable, "-c", CALLS, asked, env=environment)
    ended = [each.partition("\nMODULES ")[::2] for each in printed.split("\nEND\n")[:-1]]
    assert len(ended) == len(calls)
    split = [(printed, *rest.split(" ", 1)) for printed, rest in ended]
    return [Called(printed, int(code), set(names.split())) for printed, code, names in split]


def test_the_program_answers_before_it_imports_anything_large() -> None:
    for called in call_each(({}, "--version"), ({}, "--help")):
        assert (called.code, sorted(called.modules & (SERVER | COMMAND))) == (0, [])
        assert "agentpost" in called.printed


def test_no_help_of_a_command_imports_anything_large() -> None:
    helps, _, modules = programs.printed(sys.executable, "-c", EVERY_HELP).rpartition("MODULES ")
    shown = {line.removeprefix("HELP ") for line in helps.splitlines() if line[:5] == "HELP "}
    assert shown >= {*PLACES, "accounts create", "db upgrade", "limits set", "files get"}
    assert sorted(set(modules.split()) & (SERVER | COMMAND)) == []


COMPLETIONS = {
    "agentpost se": ["serve", "send", "sessions"],
    "agentpost work st": ["stop"],
    "agentpost send --met": ["--metadata"],
    "agentpost send hi -f a.csv --bu": ["--busy"],
    "agentpost messages list --status com": ["completed"],
    "agentpost me --profile wo": ["work"],
}


def test_completion_imports_nothing_large(tmp_path: Path) -> None:
    (tmp_path / "agentpost").mkdir()
    profile = '[profiles.work]\nurl = "http://h"\nkey = "k"\n'
    (tmp_path / "agentpost" / "config.toml").write_text(profile)
    shell = {"XDG_CONFIG_HOME": str(tmp_path), "_AGENTPOST_COMPLETE": "complete_bash"}
    typed = [
        {**shell, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        for words in COMPLETIONS
    ]
    completed = call_each(*((environment, "") for environment in typed))
    assert {words: c.printed.split() for words, c in zip(COMPLETIONS, completed, strict=True)} == (
        COMPLETIONS
    )
    assert sorted(completed[-1].modules & (SERVER | COMMAND)) == []


def test_help_of_a_command_does_not_set_up_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        pytest.fail("logging was set up")

    monkeypatch.setattr("agentpost.observability.logging.configure_command", fail)
    monkeypatch.setattr(sys, "argv", ["agentpost", "doctor", "--help"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert "--full" in capsys.readouterr().out


def test_a_callers_command_does_not_import_the_server() -> None:
    """Each of them runs, and finds no server."""
    codes = {"send hi": 7, "me": 7, "work list": 7, "files get x": 7, "verify --list": 0}
    called = call_each(*(({}, words) for words in codes))
    assert [each.code for each in called] == list(codes.values())
    imported = {words: each.modules & SERVER for words, each in zip(codes, called, strict=True)}
    assert {words: names for words, names in imported.items() if names} == {}


def test_every_command_is_where_its_place_says() -> None:
    assert list(Commands()) == list(PLACES)
    for name, command in Commands().items():
        assert command.name == name
    assert {words.split()[0] for words in _DECLARED} == set(PLACES), "none is left out"


def test_the_programs_help_fits_a_terminal() -> None:
    column = max(map(len, PLACES)) + len("    ")
    assert [p.summary for p in PLACES.values() if column + len(p.summary) > 80] == []
