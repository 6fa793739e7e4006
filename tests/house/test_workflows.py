""".github/workflows: what can be known of them without GitHub; and whether YAML is well formed."""

import json
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from yamllint import linter
from yamllint.config import YamlLintConfig

from tests.house.test_deploy import KUBERNETES
from tests.house.tree import ROOT, SERVER, document

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PATHS = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
SCHEMAS = ("vendor/github-workflows.json", "custom/github-workflows-require-timeout.json")


def workflow(path: Path) -> dict[str, Any]:
    loader = yaml.BaseLoader  # leaves the key "on" a string
    return dict(yaml.load(document(path), Loader=loader))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


COMPOSE = ROOT / "compose.yaml"
FITTING = [(path, schema) for path in WORKFLOWS for schema in SCHEMAS]
FITTING.append((COMPOSE, "vendor/compose-spec.json"))


@pytest.mark.parametrize(("path", "schema"), FITTING)
def test_it_fits_its_schema(path: Path, schema: str) -> None:
    package = find_spec("check_jsonschema")
    assert package is not None
    assert package.origin is not None
    validator = jsonschema_rs.validator_for(
        json.loads(document(Path(package.origin).parent / "builtin_schemas" / schema))
    )
    value = yaml.safe_load(document(path).replace("\non:", '\n"on":'))
    assert [error.message for error in validator.iter_errors(value)] == []


@pytest.mark.parametrize("path", [*WORKFLOWS, COMPOSE, *KUBERNETES], ids=lambda path: path.name)
def test_yaml_is_well_formed(path: Path) -> None:
    rules = YamlLintConfig(document(ROOT / ".yamllint.yaml"))
    assert [str(problem) for problem in linter.run(document(path), rules)] == []


@PATHS
def test_it_says_that_it_was_not_run(path: Path) -> None:
    assert document(path).startswith("# NOT YET RUN ON GITHUB")


@PATHS
def test_it_may_do_no_more_than_it_needs(path: Path) -> None:
    """Reading the code; the jobs that publish get a token for the registry, and nothing else."""
    assert workflow(path)["permissions"] == {"contents": "read"}
    jobs = workflow(path)["jobs"]
    own = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    token = {"id-token": "write"}
    assert own == ({"pypi": token, "npm": token} if path.stem == "release" else {})
    assert all(jobs[name]["environment"] == name for name in own)


@PATHS
def test_what_it_runs_is_there(path: Path) -> None:
    commands = "\n".join(step.get("run", "") for step in steps(path))
    targets = set(re.findall(r"^([a-z-]+):", document(ROOT / "Makefile"), re.M))
    assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= targets
    scripts = json.loads(document(ROOT / "clients/typescript/package.json"))["scripts"]
    assert set(re.findall(r"\bnpm run (\S+)", commands)) <= scripts.keys()
    folders = {step["working-directory"] for step in steps(path) if "working-directory" in step}
    assert [name for name in folders if not (ROOT / name).is_dir()] == []
    used = {step["uses"] for step in steps(path) if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in used)


@pytest.mark.parametrize("name", ["Makefile", ".ci/oldest"])
def test_the_folders_of_tests_that_a_command_names_have_tests(name: str) -> None:
    """A folder whose tests have moved away may still stand in a working tree, with byte code."""
    text = document(ROOT / name)
    named = set(re.findall(r"(?:packages|clients)/[\w/]*tests(?:/[\w/.]+)?", text))
    for folder, rooms in re.findall(r"([\w/]+)/\{([\w,]+)\}", text):
        named |= {f"{folder}/{room}" for room in rooms.split(",")}
    assert named
    paths = {each: ROOT / each for each in named}
    found = {name for name, path in paths.items() if path.is_file() or any(path.rglob("*.py"))}
    assert sorted(named - found) == []


@PATHS
def test_a_job_installs_into_a_python_of_its_choice(path: Path) -> None:
    """The one of the runner belongs to its system, and pip refuses to install into it."""
    for name, job in workflow(path)["jobs"].items():
        used = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
        commands = "\n".join(step.get("run", "") for step in job["steps"])
        if re.search(r"^\s*(pip|make) ", commands, re.M):
            assert "actions/setup-python" in used, name


def test_the_oldest_and_the_newest_python_are_tried_on_both_systems() -> None:
    matrix = workflow(ROOT / ".github/workflows/check.yml")["jobs"]["check"]["strategy"]["matrix"]
    project = tomllib.loads(document(SERVER / "pyproject.toml"))["project"]
    assert f">={matrix['python'][0]}" == project["requires-python"]
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos"]
