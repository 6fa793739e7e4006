"""Who may import whom: the contracts of pyproject.toml hold, bite, and cover what exists.

import-linter wants every module it is told about to exist, so a contract grows with the tree: the
lists here say what has to be in it, and the tests name what has not been added yet.
"""

import os
import runpy
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.house.floors import declared, find_circle, floor_of
from tests.house.tree import (
    AGENTS,
    CLIENT,
    DOCS,
    OFFLINE,
    ROOT,
    SRC,
    VERIFY,
    imports,
    package,
    sources,
)

ADAPTERS = {
    "agentpost.db.postgres",
    "agentpost.db.sqlite",
    "agentpost.engine.dispatch",
    "agentpost.ratelimit.memory",
    "agentpost.ratelimit.redis",
    "agentpost.storage.local",
    "agentpost.storage.s3",
    "agentpost.wakeups.postgres",
}
RECORD = {"agentpost.record.rows", "agentpost.record.transitions"}
FILES_MAX = 20  # a room with more is two rooms
AGENTS_MAY_IMPORT = {"answers", "base", "caller_context", "deaths", "files", "retries"}

# One forbidden import (or misplaced module) for each contract: file, line, and what is said of it.
BREAKS = [
    ("jobs/broken.py", "from agentpost.api import broken", "Imports go down only"),
    ("jobs/broken.py", "import agentpost_client", "Imports go down only"),
    ("jobs/broken.py", "import agentpost_verify", "Imports go down only"),
    ("utils.py", "", "Imports go down only"),
    ("api/broken.py", "from agentpost.messages import rows", "Imports go down only"),
    ("tasks/broken.py", "from agentpost.record import transitions", "A transition has one caller"),
    ("web/broken.py", "from agentpost.db import sqlite", "Adapters are named in bootstrap only"),
    ("../agentpost_client/broken.py", "import agentpost.domain", "The client stands alone"),
    ("../agentpost_verify/broken.py", "import agentpost.domain", "Verify knows only answers"),
    ("../agentpost_offline/broken.py", "from agentpost.threads import loop",
     "The built-in agent knows the protocol only"),
    ("jobs/broken.py", "import agentpost_offline",
     "Only the model agent uses the built-in agent"),
    ("../agentpost_client/broken.py", "from agentpost_client import again\n", "No cycles"),
]  # fmt: skip


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def existing(modules: set[str]) -> set[str]:
    return modules & {source.module for source in package()}


def lint(*folders: Path) -> tuple[int, str]:
    """Exit code and report of import-linter for the packages in these folders."""
    path = os.pathsep.join(map(str, (*folders, ROOT)))
    program = Path(sys.executable).with_name("lint-imports")
    options = ("--no-cache", "--no-logo", f"--config={ROOT / 'pyproject.toml'}")
    environment = {"COLUMNS": "200", "PYTHONPATH": path}
    done = programs.run(program, *options, cwd=ROOT, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_the_contracts_hold() -> None:
    code, report = lint(SRC.parent, AGENTS.parent, CLIENT.parent, OFFLINE.parent, VERIFY.parent)
    assert code == 0, report


def test_every_contract_can_break(tmp_path: Path) -> None:
    for package_ in (SRC, AGENTS, CLIENT, OFFLINE, VERIFY):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package_, tmp_path / package_.name, ignore=ignored, dirs_exist_ok=True)
    (tmp_path / "agentpost/api/broken.py").touch()
    again = "from agentpost_client import broken\n"
    (tmp_path / "agentpost_client/again.py").write_text(again)
    for path, line, _ in BREAKS:
        with (tmp_path / "agentpost" / path).open("a") as file:
            file.write(f"{line}\n")
    code, report = lint(tmp_path)
    assert code == 1, report
    assert {contract["name"] for contract in contracts().values()} == {name for *_, name in BREAKS}
    for path, line, name in BREAKS:
        assert f"{name} BROKEN" in report
        module = ".".join(Path(os.path.normpath(f"agentpost/{path}")).with_suffix("").parts)
        assert module in report.partition("Broken contracts")[2], (path, line)


def test_no_contract_has_a_hole() -> None:
    holes = [name for name, contract in contracts().items() if "ignore_imports" in contract]
    assert holes == []


@pytest.mark.parametrize(
    ("module", "floor"),
    [
        ("record.transitions", "rules"),
        ("jobs.work_shapes", "shapes"),
        ("jobs.rows", "rows"),
        ("db.sqlite", "rows"),
        ("jobs.starting", "actions"),
        ("jobs.__init__", "actions"),
        ("doors.openai.chat", "doors"),
        ("jobs.routes", "entries"),
        ("jobs.commands", "commands"),
        ("utils", None),
    ],
)
def test_a_module_comes_before_a_room_and_a_room_before_the_name_of_a_file(
    module: str, floor: str | None
) -> None:
    assert floor_of(module, declared()) == floor


def test_a_circle_of_rooms_is_found() -> None:
    messages, jobs, files = ("messages", "actions"), ("jobs", "actions"), ("files", "actions")
    between = {messages: {jobs: "m -> j", files: "m -> f"}, jobs: {files: "j -> f"}}
    assert list(find_circle(between)) == []
    assert list(find_circle({**between, files: {messages: "f -> m"}})) == [
        "m -> j", "j -> f", "f -> m",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("contract", "modules", "importers"),
    [
        ("transition", RECORD, ["agentpost.record.writer"]),
        ("adapters", ADAPTERS, ["agentpost.bootstrap"]),
    ],
)
def test_every_existing_module_is_protected(
    contract: str, modules: set[str], importers: list[str]
) -> None:
    settings = contracts()[contract]
    missing = existing(modules) - set(settings["protected_modules"])
    assert sorted(missing) == [], f"add to the contract {contract!r} in pyproject.toml"
    assert settings["allowed_importers"] == importers


def test_the_built_in_agent_may_import_the_protocol_and_extraction_only() -> None:
    """The contract names what is forbidden, so what is new has to be added to it."""
    modules = [source for source in package() if source.module.startswith("agentpost.")]
    tops = {".".join(source.module.split(".")[:2]) for source in modules}
    own = {
        source.module for source in modules
        if source.module.startswith("agentpost.agents.") and source.module.count(".") == 2
    }  # fmt: skip
    allowed = {f"agentpost.agents.{name}" for name in AGENTS_MAY_IMPORT}
    entries = {"agentpost.__main__", "agentpost.agents", "agentpost.extraction"}
    expected = (tops - entries) | (own - allowed)
    assert sorted(contracts()["offline"]["forbidden_modules"]) == sorted(expected)


def test_the_library_of_agents_imports_nothing_of_the_server() -> None:
    """It is installed without it. Imports only for types count as well."""
    library = sources("packages/agents/src")
    modules = {source.module for source in library}
    upward = [
        f"{source.path}:{line}: {name}"
        for source in library
        for line, name in imports(source)
        if name.startswith("agentpost.") and not {name, name.rpartition(".")[0]} & modules
    ]
    assert upward == []


def test_no_room_and_no_file_is_in_both_trees_of_agentpost() -> None:
    """Neither may have a module of the name itself: it would hide what the other one has."""
    server, library = (
        {path.stem for path in tree.iterdir() if path.is_file() or any(path.glob("*.py"))}
        for tree in (SRC, AGENTS)
    )
    assert server & library == set()
    assert "__init__" not in server | library


def test_every_room_says_what_it_is_and_none_is_crowded() -> None:
    script = runpy.run_path(str(DOCS / "house.py"))
    rooms = [*SRC.glob("*/__init__.py"), *AGENTS.glob("*/__init__.py")]
    assert not [room for room in rooms if not script["what"](room.parent)]
    crowded = {
        room.parent.name: count
        for room in rooms
        if (count := len(list(room.parent.glob("*.py"))) - 1) > FILES_MAX
    }
    assert crowded == {}
