"""`agentpost new`: what it makes is tested as its reader would test it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from tests.nested import pytest_in


def new(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["new", *arguments])
    return done.exit_code, done.output


def test_the_tests_of_a_new_agent_pass(tmp_path: Path) -> None:
    """One process of pytest: slow because it imports the server."""
    folder = tmp_path / "my-agent"
    code, said = new(str(folder))
    assert code == 0
    assert "agentpost dev" in said
    done = pytest_in(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("name", ["1st", "a b", "json", "class", "é"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    code, said = new(str(tmp_path / name))
    assert code == 1
    assert name in said
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.py").write_text("mine")
    code, said = new(str(tmp_path / "mine"))
    assert (code, "exists and is not empty" in said) == (1, True)
    assert (tmp_path / "mine" / "agent.py").read_text() == "mine"
