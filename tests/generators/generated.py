"""Clients that generators of others make from the description of a server, and what they can do.

The programs in `programs/` make the same calls, each with a client of its generator: they send two
messages, wait for the first, list by its label and time, make and delete a webhook endpoint, upload
a file, read the message's file and its stream, and ask for a message that is not there.
"""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.server import KEY, ROOT, AgentServer
from tests.node import require_packages, run

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
BIN = ROOT / ".tools" / "generators" / "bin"
PYTHON = str(BIN / "python")
SCRIPT = [["start", "Report", [["write", "report.txt", "All is well."], ["return", "Done"]]]]
RESULTS = {
    "status": "completed",
    "listed": True,
    "deleted": True,
    "upload": "ready",
    "file": "report.txt All is well.",
    "streamed": True,
    "error": "404 not_found",
}
TSCONFIG = {
    "compilerOptions": {
        "target": "ES2022",
        "module": "NodeNext",
        "moduleResolution": "NodeNext",
        "lib": ["ES2022", "DOM", "DOM.Iterable"],
        "types": ["node"],
        "strict": True,
        "skipLibCheck": True,
    }
}


@dataclass(frozen=True)
class Generator:
    """How a client is made, compiled and run.

    Args:
        name: as docs/api.md names it.
        program: the file in `programs/`.
        commands: run in a folder with `openapi.json` and the files; the last one runs the program.
        files: more files of `programs/`.
    """

    name: str
    program: str
    commands: tuple[tuple[str, ...], ...]
    files: tuple[str, ...] = ()


def typescript(name: str, program: str, *generate: str, files: tuple[str, ...] = ()) -> Generator:
    """A generator for Node.js; the client is compiled under `strict`."""
    compile_ = ("node", "node_modules/typescript/bin/tsc", "-p", ".")
    commands = (generate, compile_, ("node", program.replace(".ts", ".js")))
    return Generator(name, program, commands, files)


def python(
    name: str, program: str, package: str, *generate: str, files: tuple[str, ...] = ()
) -> Generator:
    """A generator for Python; every module of the package is compiled."""
    compile_ = (PYTHON, "-m", "compileall", "-q", package)
    return Generator(name, program, (generate, compile_, (PYTHON, program)), files)


def results(generator: Generator, server: AgentServer, folder: Path) -> dict[str, Any]:
    """What the generator's program says of its calls to the server; every command succeeds. Skips
    with the reason where the generators are not installed."""
    if not BIN.exists():
        pytest.skip("`make test` installs the generators of clients, into .tools/generators")
    document = httpx2.get(f"{server.url}/openapi.json")
    (folder / "openapi.json").write_bytes(document.content)
    for file in (generator.program, *generator.files):
        shutil.copy(PROGRAMS / file, folder)
    if generator.program.endswith(".ts"):
        require_packages(HERE)
        (folder / "node_modules").symlink_to(HERE / "node_modules")
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "tsconfig.json").write_text(json.dumps(TSCONFIG))
    environment = {
        "AGENTPOST_URL": server.url,
        "AGENTPOST_KEY": KEY,
        "MESSAGE": json.dumps(SCRIPT),
        "ORDER": f"{generator.name} {os.getpid()}",
    }
    output = ""
    for command in generator.commands:
        output = succeed(command, folder, **environment)
    answer: dict[str, Any] = json.loads(output)
    return answer


def succeed(command: Sequence[str], folder: Path, **environment: str) -> str:
    """What a command prints; it has to succeed."""
    done = run(*command, folder=folder, **environment)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout
