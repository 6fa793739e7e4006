"""Programs for Node.js in tests, with packages of the npm registry.

``official_clients/`` holds the official JavaScript clients of the protocols that the doors speak;
``package.json`` there names them, and a program beside it imports them.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import programs
from tests.servers import locked, run_dir

OFFICIAL_CLIENTS = Path(__file__).parent / "official_clients"
NODE_MAJOR_MIN = 20


def run(*command: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run one command in a folder."""
    return programs.run(*command, cwd=folder, env={**os.environ, **environment})


def require_packages(folder: Path) -> str:
    """Install what the lock file of a folder names, once for all processes of a run.

    Returns the path of Node.js. Skips the test, with the reason, where that cannot be had.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js with npm is not installed: nothing for JavaScript is tested")
    version = run(node, "--version", folder=folder).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < NODE_MAJOR_MIN:
        pytest.skip(f"Node.js {version} is older than {NODE_MAJOR_MIN}: it is not tested")
    run_dir().mkdir(exist_ok=True)
    installed = folder / "node_modules" / ".package-lock.json"
    with locked(run_dir() / f"npm-{folder.name}.lock"):
        lock = folder / "package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            npm_ci = run(npm, "ci", "--no-fund", "--no-audit", "--prefer-offline", folder=folder)
            if npm_ci.returncode != 0:
                pytest.skip(f"npm cannot install the packages: {npm_ci.stderr[-300:]}")
    return node


def run_official(program: str, **environment: str) -> str:
    """Run a program of ``official_clients/`` and return what it prints; it has to succeed."""
    node = require_packages(OFFICIAL_CLIENTS)
    done = run(node, program, folder=OFFICIAL_CLIENTS, **environment)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout
