"""Who may import whom: the contracts of pyproject.toml hold, bite, and cover what exists.

import-linter wants every module it is told about to exist, so a contract grows with the tree: the
lists here say what has to be in it, and the tests name what has not been added yet.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house.tree import CLIENT, OFFLINE, ROOT, SRC, VERIFY, client, imports, package

ADAPTERS = {
    "agentpost.db.postgres",
    "agentpost.db.sqlite",
    "agentpost.engine.dispatch",
    "agentpost.ratelimit.memory",
    "agentpost.ratelimit.redis",
    "agentpost.storage.local",
    "agentpost.storage.s3",
    "agentpost.wakeups.memory",
    "agentpost.wakeups.postgres",
}
RECORD = {"agentpost.record.rows", "agentpost.record.transitions"}
AGENTS_MAY_IMPORT = {"answers", "base", "caller_context", "deaths", "files", "retries"}

# One forbidden import (or misplaced module) for each contract: file, line, and what is said of it.
BREAKS = [
    ("services/broken.py", "from agentpost.api import broken", "Imports go down only"),
    ("storage/broken.py", "from agentpost.wakeups import broken", "Imports go down only"),
    ("utils.py", "", "Imports go down only"),
    ("domain/broken.py", "import time", "The domain is pure"),
    ("tasks/broken.py", "from agentpost.domain import transitions", "A transition has one caller"),
    ("web/broken.py", "from agentpost.db import sqlite", "Adapters are named in bootstrap only"),
    ("api/broken.py", "from agentpost.db import tables", "Doors never touch tables"),
    ("../agentpost_client/broken.py", "import agentpost.domain", "The client stands alone"),
    ("services/broken.py", "import agentpost_client", "Only commands use the client"),
    ("../agentpost_verify/broken.py", "import agentpost.domain", "Verify knows only answers"),
    ("services/broken.py", "import agentpost_verify", "Only commands use verify"),
    ("../agentpost_offline/broken.py", "from agentpost.threads import loop",
     "The built-in agent knows the protocol only"),
    ("services/broken.py", "import agentpost_offline",
     "Only the model agent uses the built-in agent"),
    ("db/broken.py", "from agentpost.db import again\n", "No cycles"),
]  # fmt: skip


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def existing(modules: set[str]) -> set[str]:
    return modules & {source.module for source in package()}


def lint(*folders: Path) -> tuple[int, str]:
    """Exit code and report of import-linter for the packages in these folders."""
    path = os.pathsep.join(map(str, folders))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--no-cache",
            "--no-logo",
            f"--config={ROOT / 'pyproject.toml'}",
        ],
        cwd=folders[0],
        env={"COLUMNS": "200", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_contracts_hold() -> None:
    code, report = lint(SRC.parent, CLIENT.parent, OFFLINE.parent, VERIFY.parent)
    assert code == 0, report


def test_every_contract_can_break(tmp_path: Path) -> None:
    for package_ in (SRC, CLIENT, OFFLINE, VERIFY):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package_, tmp_path / package_.name, ignore=ignored)
    (tmp_path / "agentpost/api/broken.py").touch()
    (tmp_path / "agentpost/wakeups/broken.py").touch()
    (tmp_path / "agentpost/db/again.py").write_text("from agentpost.db import broken\n")
    for path, line, _ in BREAKS:
        with (tmp_path / "agentpost" / path).open("a") as file:
            file.write(f"{line}\n")
    code, report = lint(tmp_path)
    assert code == 1, report
    assert {contract["name"] for contract in contracts().values()} == {name for *_, name in BREAKS}
    for path, line, name in BREAKS:
        assert f"{name} BROKEN" in report
        assert Path(path).stem in report.partition("Broken contracts")[2], (path, line)


def test_no_contract_has_a_hole() -> None:
    holes = [name for name, contract in contracts().items() if "ignore_imports" in contract]
    assert holes == []
    assert contracts()["floors"]["exhaustive_ignores"] == ["__main__"]


@pytest.mark.parametrize(
    ("contract", "modules", "importers"),
    [
        ("transition", RECORD, ["agentpost.record.writer"]),
        ("adapters", ADAPTERS, ["agentpost.bootstrap", "agentpost.wakeups.postgres"]),
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
    entries = {"agentpost", "agentpost.__main__", "agentpost.agents", "agentpost.extraction"}
    expected = (tops - entries) | (own - allowed)
    assert sorted(contracts()["offline"]["forbidden_modules"]) == sorted(expected)


def test_the_client_imports_nothing_of_the_server() -> None:
    names = [name for source in client() for _, name in imports(source)]
    assert [name for name in names if name.split(".")[0] == "agentpost"] == []
