"""Which modules a command may not import: what the help and a caller wait for is their import.

Modules are named, not seconds, which depend on the machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from agentpost.cli import main
from agentpost.cli.commands import _DECLARED, PLACES, Commands

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
COMMAND = {"agentpost_client", "asyncio", "httpx2", "pydantic", "rich"}
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


def imported(*arguments: str) -> set[str]:
    """The modules that the program has imported when it ends."""
    code = (
        "import sys; from agentpost.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={"AGENTPOST_URL": "nowhere", "AGENTPOST_KEY": "k"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    modules = set(done.stdout.rpartition("MODULES ")[2].split())
    assert "typer" in modules, done.stderr
    return modules


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_program_answers_before_it_imports_anything_large(option: str) -> None:
    assert sorted(imported(option) & (SERVER | COMMAND)) == []


def test_no_help_of_a_command_imports_anything_large() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_HELP], capture_output=True, text=True, timeout=60, check=True
    )
    helps, _, modules = done.stdout.rpartition("MODULES ")
    shown = {line.removeprefix("HELP ") for line in helps.splitlines() if line[:5] == "HELP "}
    assert shown >= {*PLACES, "accounts create", "db upgrade", "limits set", "files get"}
    assert sorted(set(modules.split()) & (SERVER | COMMAND)) == []


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("agentpost se", ["serve", "send", "sessions"]),
        ("agentpost work st", ["stop"]),
        ("agentpost send --met", ["--metadata"]),
        ("agentpost send hi -f a.csv --bu", ["--busy"]),
        ("agentpost messages list --status com", ["completed"]),
        ("agentpost me --profile wo", ["work"]),
    ],
)
def test_completion_imports_nothing_large(typed: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "agentpost").mkdir()
    profile = '[profiles.work]\nurl = "http://h"\nkey = "k"\n'
    (tmp_path / "agentpost" / "config.toml").write_text(profile)
    code = (
        "import sys; from agentpost.cli import app\n"
        "try: app(prog_name='agentpost')\n"
        "finally: print('\\nMODULES', *sys.modules)"
    )
    environment = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "_AGENTPOST_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    words, _, modules = done.stdout.rpartition("MODULES ")
    assert words.split() == found, done.stderr
    assert sorted(set(modules.split()) & (SERVER | COMMAND)) == []


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


@pytest.mark.parametrize("words", ["send hi", "me", "work list", "files get x", "verify --list"])
def test_a_callers_command_does_not_import_the_server(words: str) -> None:
    modules = imported(*words.split())
    assert "pydantic" in modules, "the command ran"
    assert sorted(modules & SERVER) == []


def test_every_command_is_where_its_place_says() -> None:
    assert list(Commands()) == list(PLACES)
    for name, command in Commands().items():
        assert command.name == name


def test_no_command_is_left_out() -> None:
    for name in Commands():
        Commands()[name]
    assert {words.split()[0] for words in _DECLARED} == set(PLACES)


def test_the_programs_help_fits_a_terminal() -> None:
    column = max(map(len, PLACES)) + len("    ")
    assert [p.summary for p in PLACES.values() if column + len(p.summary) > 80] == []
