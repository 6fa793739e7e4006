"""`agentpost new`: what it makes is tested as its reader would test it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from tests.author_tests import pytest_in


def new(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["new", *arguments])
    return done.exit_code, done.output


BROKEN = """
from agentpost.testing import run


async def agent(turn):
    await turn.start(work, title="Work")


async def work(job):
    return await job.step(read_total, {})


def read_total(order):
    return order["total"]


def test_it() -> None:
    done = run(agent, "go")
    assert done.status == "completed", done.error
"""


def test_the_tests_of_a_new_agent_pass_and_one_that_fails_says_where(tmp_path: Path) -> None:
    """One process of pytest: slow because it imports the server."""
    folder = tmp_path / "my-agent"
    code, output = new(str(folder))
    assert code == 0
    assert "agentpost dev" in output
    assert ".agentpost/\n" in (folder / ".gitignore").read_text()
    source = Path(__file__).parents[4]
    requirements = (folder / "requirements.txt").read_text().splitlines()
    assert requirements == [
        f"agentpost-client @ {(source / 'clients/python').as_uri()}",
        f"agentpost-agents @ {(source / 'packages/agents').as_uri()}",
        f"agentpost @ {(source / 'packages/server').as_uri()}",
        "pytest",
    ]

    (folder / "test_broken.py").write_text(BROKEN)
    done = pytest_in(folder)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    failure, _, log = done.stdout.partition("Captured stderr call")
    assert "AssertionError: KeyError: 'total' (test_broken.py, line 14, in read_total)" in failure
    assert log.index("in work") < log.index('return order["total"]') < log.index("KeyError")
    assert log.count("Traceback") == 1
    assert "site-packages" not in log
    assert "packages/server/src/agentpost" not in log
    assert len(log.splitlines()) < 20


@pytest.mark.parametrize("name", ["1st", "a b", "json", "class", "é"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    code, output = new(str(tmp_path / name))
    assert code == 1
    assert name in output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.py").write_text("mine")
    code, output = new(str(tmp_path / "mine"))
    assert (code, "exists and is not empty" in output) == (1, True)
    assert (tmp_path / "mine" / "agent.py").read_text() == "mine"
