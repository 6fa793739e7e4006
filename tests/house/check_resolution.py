"""The server's requirements leave room for the libraries that agents are written with.

`make release-check` runs it: it asks the package index, for ten seconds of CPU.

A bound that is too high does not fail: the installer takes a release of the framework that is years
old. So each framework is resolved together with the server, and its release is compared with one
that was current when this was written.
"""

import os

import pytest

from tests import programs
from tests.house.tree import ROOT, uv

FRAMEWORKS = {"crewai": (1, 15), "semantic-kernel": (1, 45), "instructor": (1, 17)}
"""The oldest release, as major and minor version, that an installation beside the server may take.
Those that have an adapter are in the dev group: uv.lock holds them beside the server."""

DISTRIBUTIONS = {
    "agentpost": "packages/server",
    "agentpost-agents": "packages/agents",
    "agentpost-client": "clients/python",
}
"""The server and what it takes from this repository, by the folder of each."""


def resolved(*requirements: str) -> dict[str, str]:
    """The versions by package that these requirements lead to, without installing them."""
    command = [uv(), "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    ours = [f"{name} @ {(ROOT / folder).as_uri()}" for name, folder in DISTRIBUTIONS.items()]
    # The tests' own variable would have uv trust no index.
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    options = ("--system-certs", "-", "--python-version", "3.12")
    named = "\n".join([*ours, *requirements])
    done = programs.run(*command, *options, env=environment, input=named)
    if "Failed to fetch" in done.stderr or "error sending request" in done.stderr:
        pytest.skip(f"the package index cannot be reached: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    pairs = (line.split("==") for line in done.stdout.splitlines() if "==" in line)
    return {name: version.split(" ")[0] for name, version in pairs}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_beside_the_server_is_a_current_one(framework: str) -> None:
    version = resolved(framework)[framework]
    assert tuple(int(part) for part in version.split(".")[:2]) >= FRAMEWORKS[framework], version
