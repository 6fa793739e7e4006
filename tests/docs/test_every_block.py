"""Every block of every page is run by a test, checked here by a parser, or listed with the reason
why it is neither. Commands and options exist, wherever a page names them."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tests.docs.snippets import Block, blocks
from tests.house.texts import texts
from tests.house.tree import DOCS, ROOT, document

FOLDERS = (
    *("", "docs", "docs/recipes", "benchmarks"),
    *("clients/python", "clients/typescript", "packages/agents"),
    *("packages/offline", "packages/server", "packages/verify"),
)
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for folder in FOLDERS
    for page in sorted((ROOT / folder).glob("*.md"))
}
TYPESCRIPT = "clients/typescript/tests/client_typescript/test_client.py"
RUN: Mapping[str, Mapping[str, str]] = {
    "docs/typescript.md": dict.fromkeys(("ts", "js", "sh"), TYPESCRIPT),
    "docs/adapters.md": {"sh": "test_adapters_page.py"},
}
"""What other tests run: by page, the languages and the test. Python programs and commands behind
"$ " are run by test_pages.py and its neighbours."""
INSTALLS = "it installs packages; `make release-check` and test_distributions.py do"
MACHINE = "it changes a machine; test_deploy.py checks the files it names"
CONTAINERS = "there is no container runtime; test_deploy.py checks the files it names"
ABOVE = "the block of the same page that a test runs is started with this line"
KEY_OF_A_PROVIDER = "a provider's key is needed; test_llm_page.py runs it against a stand-in"
DEVELOPING = "a target for people who work on the code, which takes minutes or more"
ELSEWHERE = "the program it is about is not installed"
EXCERPT = "an excerpt that is only to be read"
NOT_RUN: Mapping[tuple[str, str], str] = {
    ("ARCHITECTURE.md", "commands   "): EXCERPT,
    ("CONTRIBUTING.md", "make  "): DEVELOPING,
    ("CONTRIBUTING.md", "def test_rows"): EXCERPT,
    ("docs/logs.md", "agentpost serve"): "it runs until it is stopped",
    ("docs/faults.md", "make "): DEVELOPING,
    ("docs/deploying.md", "apt-get"): MACHINE,
    ("docs/deploying.md", "systemctl"): MACHINE,
    ("docs/deploying.md", "systemd-run"): MACHINE,
    ("docs/deploying.md", "# /etc/systemd"): MACHINE,
    ("docs/deploying.md", "docker"): CONTAINERS,
    ("docs/deploying.md", "FROM"): CONTAINERS,
    ("docs/deploying.md", "cp deploy/compose"): CONTAINERS,
    ("docs/deploying.md", "kubectl"): CONTAINERS,
    ("docs/deploying.md", "cp deploy/kubernetes"): CONTAINERS,
    ("docs/adapters.md", "agentpost serve --agent a2a"): "test_agents_elsewhere.py",
    ("docs/adapters.md", "agentpost serve"): ABOVE,
    ("docs/adapters.md", "echo"): ABOVE,
    ("docs/adapters.md", "AGENTPOST_AGENT_SECRET"): ABOVE,
    ("docs/cli.md", "agentpost dev"): "it runs until it is stopped; test_dev.py",
    ("docs/cli.md", "agentpost accounts export"): ELSEWHERE,
    ("docs/doors.md", "[Instructions"): EXCERPT,
    ("docs/llm.md", "export OPENAI"): KEY_OF_A_PROVIDER,
    ("docs/scale.md", "map"): ELSEWHERE,
    ("docs/step-user.md", "# /etc/sudoers.d"): MACHINE,
    ("docs/installing.md", "agentpost: "): "what a command prints; test_start_errors.py",
    ("docs/installing.md", "uv run"): INSTALLS,
    ("docs/installing.md", "pip install"): INSTALLS,
    ("docs/traces.md", "pip install"): INSTALLS,
    ("docs/isolation.md", "python3 -m venv"): INSTALLS,
    ("docs/isolation.md", "agentpost serve"): "tests/e2e/test_isolation.py starts it so",
    ("docs/recipes/backups.md", "agentpost backup"): ELSEWHERE,
    ("docs/recipes/backups.md", "pg_dump"): "tests/e2e/test_backups.py",
    ("docs/recipes/backups.md", "litestream"): ELSEWHERE,
    ("clients/python/README.md", "pip install"): INSTALLS,
    ("clients/typescript/README.md", "import"): f"{TYPESCRIPT} compiles it",
    ("packages/verify/README.md", "pip install"): INSTALLS,
    ("packages/agents/README.md", "python3 -m venv"): INSTALLS,
    ("packages/server/README.md", "pip install"): INSTALLS,
    ("packages/offline/README.md", "pip install"): INSTALLS,
    ("benchmarks/README.md", ""): DEVELOPING,
    ("docs/command-reference.md", ""): "made from the commands (test_generated.py)",
}
"""By page and beginning of the block."""
COMMAND = re.compile(
    r"(?:^|&& |\bapi |/bin/)(?:[A-Z_]+=\S+ +)*agentpost +(?!is ready)([a-z](?:.|\\\n)*)", re.M
)
INLINE = re.compile(r"`agentpost ([a-z][^`]*)`")
VARIABLE = re.compile(r"\bAGENTPOST_([A-Z_]+)\b")
OTHER_VARIABLES = {"URL", "KEY", "PROFILE", "CONFIG"}
"""Of the callers' commands, and the one that names the file of the settings."""


def of_pages() -> Iterator[tuple[str, Block]]:
    for name, page in PAGES.items():
        for block in blocks(page):
            yield name, block


def is_run(name: str, block: Block) -> bool:
    if block.commands or (block.kind == "python" and block.file):
        return True
    return block.kind in RUN.get(name, {})


def is_checked(block: Block) -> bool:
    """Whether a parser has read it; what is wrong with it raises."""
    if block.kind == "json":
        json.loads(block.text)
    elif block.kind == "yaml":
        yaml.safe_load(block.text)
    elif block.kind == "toml":
        check_toml(block)
    else:
        lines = block.text.splitlines()
        return all(re.match(r"(export )?AGENTPOST_[A-Z_]+=(\S*|\".*\")$", each) for each in lines)
    return True


def check_toml(block: Block) -> None:
    """Settings have their names and allowed values; of other files the syntax is checked."""
    from agentpost.settings import Settings

    values: dict[str, Any] = tomllib.loads(block.text)
    if not any(isinstance(each, dict) for each in values.values()):
        Settings.model_validate(values)


def reasons(name: str, block: Block) -> list[tuple[str, str]]:
    return [key for key in NOT_RUN if key[0] == name and block.text.startswith(key[1])]


def test_every_block_is_run_or_checked_or_says_why_not() -> None:
    neither = [
        f"{name}: {block.text.splitlines()[0]}"
        for name, block in of_pages()
        if not is_run(name, block) and not is_checked(block) and not reasons(name, block)
    ]
    assert neither == []


def test_every_reason_is_of_a_block_that_is_not_run() -> None:
    needed = {
        key
        for name, block in of_pages()
        if not is_run(name, block) and not is_checked(block)
        for key in reasons(name, block)
    }
    assert sorted(NOT_RUN.keys() - needed) == []
    tests = [test for languages in RUN.values() for test in languages.values()]
    files = set(re.findall(r"[\w/]+\.py", "\n".join([*NOT_RUN.values(), *tests])))
    folders = ("tests", "packages/*/tests", "clients/*/tests")
    there = {path.name for part in folders for path in ROOT.glob(f"{part}/**/*.py")}
    assert {Path(file).name for file in files} - there == set()


def words(text: str) -> Iterator[str]:
    """Of a command, up to what follows it in the shell."""
    for word in text.replace("\\\n", " ").split():
        if word in ("|", "&&", "||", ">", "#", "&") or word.startswith((">", "2>", "#")):
            return
        yield word.rstrip(";,.")


@cache
def program() -> Any:
    """`agentpost` with all of its commands."""
    return typer.main.get_command(import_module("agentpost.cli").app)


def wrong_word(text: str) -> str | None:
    """The first word of a command that is not a command, or an option that it does not have."""
    command = program()
    for word in words(text):
        inner = getattr(command, "commands", {})
        if word.startswith("--"):
            options = {each for param in command.params for each in param.opts}
            options |= {each for param in command.params for each in param.secondary_opts}
            if word.partition("=")[0] not in options | {"--help"}:
                return word
        elif inner and word in inner:
            command = inner[word]
        elif inner and re.fullmatch("[a-z-]+", word):
            return word
    return None


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_exist(name: str) -> None:
    text = document(PAGES[name])
    in_blocks = "\n".join(block.text for block in blocks(PAGES[name]))
    in_blocks = re.sub(r"^\$ ", "", in_blocks, flags=re.M)
    written = [*COMMAND.findall(in_blocks), *INLINE.findall(text)]
    wrong = {each: word for each in written if (word := wrong_word(each)) is not None}
    assert wrong == ({"keys lst": "lst"} if name == "docs/cli.md" else {}), "shows a mistake"


def test_commands_in_errors_and_helps_exist() -> None:
    written = [(each, command) for each in texts() for command in INLINE.findall(each)]
    assert len(written) > 10
    assert [each for each, command in written if wrong_word(command)] == []


def test_variables_are_settings() -> None:
    from agentpost.settings import Settings

    fields = {*Settings.model_fields, *map(str.lower, OTHER_VARIABLES)}
    wrong = {
        f"{name}: AGENTPOST_{variable}"
        for name, page in PAGES.items()
        for variable in VARIABLE.findall(document(page))
        if variable.lower() not in fields
    }
    assert wrong == set()


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", document(ROOT / "Makefile"), re.M))
    wrong = {
        f"{name}: make {target}"
        for name, page in PAGES.items()
        for target in re.findall(r"`make (?!it )([a-z-]+)[^`]*`", document(page))
        if target not in targets
    }
    assert wrong == set()


@pytest.mark.parametrize("text", ["keys lst", "send --fil a.csv", "webhooks create --no-such"])
def test_the_check_sees_what_does_not_exist(text: str) -> None:
    assert wrong_word(text)
    assert wrong_word("keys create --name x > key # --no") is None


def test_folders_have_no_other_pages() -> None:
    """A page in a folder that is not looked at would not be checked."""
    apart = (".venv", "node_modules", ".tools", "tests", "docs/gallery", "site", "dist")
    others = {
        path.relative_to(ROOT).as_posix()
        for folder in ("docs", "clients", "packages", "benchmarks", "deploy", "examples")
        for path in Path(ROOT / folder).rglob("*.md")
        if not any(f"/{each}/" in f"/{path.relative_to(ROOT)}" for each in apart)
    }
    assert others <= set(PAGES)
    assert DOCS / "api.md" in PAGES.values()
