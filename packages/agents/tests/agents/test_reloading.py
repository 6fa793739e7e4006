"""An author's code that is imported again, or is kept since it cannot be."""

import os
import sys
from pathlib import Path

import pytest

from agentpost.agents.registry import UnknownAgent
from agentpost.serving.development import AgentCode

AGENT = "from reloaded_helper import NAME\n\nasync def agent(turn):\n    return NAME\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The author's folder, with an agent and a module that it imports."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("reloaded_agent", "reloaded_helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "reloaded_agent.py").write_text(AGENT)
    (tmp_path / "reloaded_helper.py").write_text("NAME = 'one'\n")
    (tmp_path / "test_reloaded.py").write_text("")
    return tmp_path


async def test_a_change_of_any_module_is_taken_up(folder: Path) -> None:
    """Also within a second and of the same size, which Python's byte code would not notice."""
    code = AgentCode("reloaded_agent:agent")
    first = code.load()
    assert await first.run(None) == "one"  # type: ignore[arg-type, func-returns-value]
    helper = folder / "reloaded_helper.py"
    for name in ("two", "six"):
        helper.write_text(f"NAME = '{name}'\n")
        assert code.changed_files() == {helper}
        again = code.load()
        assert await again.run(None) == name  # type: ignore[arg-type, func-returns-value]


@pytest.mark.parametrize("text", ["async def (:", "import nowhere_to_be_found", "1 / 0"])
def test_broken_code_leaves_what_was_imported(folder: Path, text: str) -> None:
    code = AgentCode("reloaded_agent:agent")
    code.load()
    before = {name: sys.modules[name] for name in ("reloaded_agent", "reloaded_helper")}
    (folder / "reloaded_helper.py").write_text(text)
    with pytest.raises(UnknownAgent, match=r"reloaded_helper\.py"):
        code.load()
    assert {name: sys.modules[name] for name in before} == before
    assert code.changed_files() == set()
    (folder / "new_module.py").touch()  # perhaps it is what was missing
    assert code.changed_files() == {folder / "new_module.py"}


def test_only_what_was_imported_and_changed_concerns_it(folder: Path) -> None:
    code = AgentCode("reloaded_agent:agent")
    code.load()
    assert code.changed_files() == set()
    for name in ("test_reloaded.py", "new_module.py", "notes.txt"):
        (folder / name).write_text("NAME = 'other'\n")
    assert code.changed_files() == set()
    (folder / "reloaded_helper.py").unlink()
    assert code.changed_files() == {folder / "reloaded_helper.py"}


def test_a_change_is_found_by_what_is_in_the_file(folder: Path) -> None:
    """One while the code was imported among them; a file that was only saved again is none."""
    agent, helper = folder / "reloaded_agent.py", folder / "reloaded_helper.py"
    code = AgentCode("reloaded_agent:agent")
    code.load()
    helper.write_text("NAME = 'two'\n")
    os.utime(helper, (0, 0))  # as copied with its time
    assert code.changed_files() == {helper}
    code.load()
    agent.write_text(AGENT)
    assert code.changed_files() == set()
    agent.write_text("from pathlib import Path\nPath(__file__).write_text('1 / 0')\n" + AGENT)
    code.load()
    assert code.changed_files() == {agent}


def test_a_change_of_code_that_failed_is_found(folder: Path) -> None:
    helper = folder / "reloaded_helper.py"
    helper.unlink()
    code = AgentCode("reloaded_agent:agent")
    with pytest.raises(UnknownAgent, match="No module named 'reloaded_helper'"):
        code.load()
    helper.write_text("NAME =\n")
    assert helper in code.changed_files()
    with pytest.raises(UnknownAgent, match="invalid syntax"):
        code.load()
    helper.write_text("NAME = 'one'\n")
    assert helper in code.changed_files()
    code.load()
    assert code.changed_files() == set()


@pytest.mark.parametrize("spec", ["agent", "cmd:cat", ":agent", "a2a:card.json"])
def test_only_code_can_be_loaded_again(spec: str) -> None:
    with pytest.raises(UnknownAgent, match="module:object"):
        AgentCode(spec)
