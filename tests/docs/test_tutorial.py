"""`docs/tutorial.md` is pasted in its order, from a fresh folder."""

from pathlib import Path

from tests.author_tests import run_tests
from tests.docs.reader import Reader
from tests.docs.snippets import Command
from tests.house.tree import DOCS
from tests.waiting import eventually

PAGE = DOCS / "tutorial.md"
APART = {"pip install": "it is installed, as far as this tree goes"}
TESTS = "python -m pytest -q test_agent.py"
AGENT = '"""Prices an order'


def test_it_happens_as_it_is_written(tmp_path: Path) -> None:
    """Two servers, since the page has two: the author's, and the one that stays."""
    with Reader(tmp_path, ("8080", "9000")) as reader:
        reader.run(Command("source .venv/bin/activate", ()))
        folder = reader.folder / "first-agent"
        for command in reader.read(PAGE, APART):
            if command.text == TESTS:
                assert run_tests(folder, "test_agent") == 3
                continue
            if command.text.startswith("agentpost serve"):
                reader.end_servers()
            edited = reader.servers and AGENT in (folder / "agent.py").read_text()
            if edited and command.text == 'agentpost send "2 apples, 1 pear"':
                eventually(lambda: "reloaded agent.py" in reader.log(0))
            reader.run(command)
            if "explain" in command.text:
                assert "  step Price of apple  n=1" in reader.output
        assert "2 lines are priced" in reader.log(0)
        assert reader.servers[0].poll() == 0
