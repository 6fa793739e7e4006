"""An agent in an interpreter that has `agentpost-agents` and its own libraries, and no server."""

import json
import shutil
import subprocess
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.e2e.test_command_prefix import PREFIXES, wrapping
from tests.house.tree import ROOT, uv

AGENT = """
import os
from pathlib import Path

import markdown_it  # the server has another version
from agentpost.agents import Job, Turn, step_key


Path(f"imported-{os.getpid()}").touch()


def version(text: str) -> str:
    return f"{text}: {markdown_it.__version__}"


async def read(job: Job, path: str) -> str:
    (file,) = await job.files()
    text = await file.text()
    (first, second) = await job.step(version, text.strip()), await job.step(here)
    await job.write("report.txt", f"{first} {second}")
    return markdown_it.__version__


async def here() -> str:
    return markdown_it.__version__


async def agent(turn: Turn) -> None:
    if turn.message.text == "die" and not Path("died").exists():
        Path("died").touch()
        os.kill(os.getpid(), 9)
    if turn.message.files:
        await turn.start(read, "Reading", path="report.txt")
    turn.reply(f"{markdown_it.__version__} {turn.message.text}")
"""
OTHER_VERSION = "0.1.2"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that other users may read: those of pytest are closed to them."""
    with TemporaryDirectory(prefix="agentpost-agent-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def interpreter(folder: Path) -> Path:
    """An environment with the built wheel, what it needs, and another version of a library."""
    subprocess.run(
        [uv(), "build", "--quiet", "--package", "agentpost-agents", "--wheel", "-o", folder],
        cwd=ROOT,
        check=True,
        timeout=300,
    )
    python = empty_environment(folder / "env")
    (installed,) = (folder / "env").glob("lib/python*/site-packages")
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(installed)
    structlog = find_spec("structlog")
    assert structlog is not None
    assert structlog.origin is not None
    shutil.copytree(Path(structlog.origin).parent, installed / "structlog")
    (installed / "markdown_it.py").write_text(f'__version__ = "{OTHER_VERSION}"\n')
    return python


def empty_environment(folder: Path) -> Path:
    """An interpreter with the standard library alone."""
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def make_server(home: Path, python: object, **settings: object) -> AgentServer:
    given = {"agent": "shop:agent", "agent_processes": 1, **settings}
    server = AgentServer(home, agent_python=str(python), **given)
    (home / "shop.py").write_text(AGENT)
    return server


@pytest.fixture(scope="module", params=["", "setpriv"], ids=["alone", "as another user"])
def server(
    request: pytest.FixtureRequest, folder: Path, interpreter: Path
) -> Iterator[AgentServer]:
    prefix: str = request.param
    home = folder / f"server {prefix}"
    if prefix:
        wrapped_by, command = wrapping(), json.dumps(PREFIXES[prefix])
        server = make_server(home, interpreter, worker_command_prefix=command)
        server.wrapped_by = wrapped_by
    else:
        server = make_server(home, interpreter)
    home.chmod(0o777)  # the agent leaves a note there
    with server.start():
        yield server


def test_a_turn_and_a_job_have_the_libraries_of_the_agent(caller: Caller) -> None:
    """The coroutines, an async step and a plain one, which runs in a worker process; reading the
    file, which is the server's own doing."""
    import markdown_it

    assert markdown_it.__version__ != OTHER_VERSION
    file = {"name": "note.txt", "base64": "Tm90ZQ=="}
    ended = caller.final(caller.send("hello", files=[file])["id"])
    assert ended["reply"] == f"{OTHER_VERSION} hello"
    (job,) = ended["jobs"]
    assert (job["status"], job["text"]) == ("completed", OTHER_VERSION)
    (report,) = job["files"]
    text = caller.http.get(report["url"]).text
    assert text == f"Note: {OTHER_VERSION} {OTHER_VERSION}"


def test_the_server_does_not_import_the_agent(server: AgentServer, caller: Caller) -> None:
    assert caller.send("hello")["reply"] == f"{OTHER_VERSION} hello"
    pids = {int(note.name.partition("-")[2]) for note in server.home.glob("imported-*")}
    assert pids
    assert server.pid not in pids


def test_a_killed_process_runs_again_by_the_same_interpreter(caller: Caller) -> None:
    """Killed from within, as `kill -9` would; its turn is repeated in another process."""
    assert caller.send("die")["reply"] == f"{OTHER_VERSION} die"


@pytest.mark.parametrize(
    ("python", "settings", "reasons"),
    [
        ("empty", {}, ["has no agentpost-agents", "-m pip install 'agentpost-agents=="]),
        ("/nowhere/python", {}, ["'/nowhere/python' cannot be run"]),
        ("/bin/true", {}, ["AGENTPOST_AGENT='shop:agent' cannot be imported by /bin/true"]),
        ("/bin/true", {"agent_processes": 0}, ["set AGENTPOST_AGENT_PROCESSES to 1 or more"]),
        ("/bin/true", {"agent": "cmd:true"}, ["for an agent in Python, not for 'cmd:true'"]),
        ("library", {"agent": "missing:agent"}, ["there is no module 'missing'"]),
        ("old library", {}, ["(protocol 0, not 1)", "-m pip install 'agentpost-agents=="]),
    ],
)
def test_an_interpreter_that_cannot_run_the_agent_is_refused(
    tmp_path: Path, interpreter: Path, python: str, settings: dict[str, object], reasons: list[str]
) -> None:
    program: object = python
    if python == "empty":
        program = empty_environment(tmp_path / "env")
    elif python == "library":
        program = interpreter
    elif python == "old library":
        program = empty_environment(tmp_path / "env")
        (installed,) = (tmp_path / "env").glob("lib/python*/site-packages")
        (installed / "agentpost/author").mkdir(parents=True)
        old = "def say(spec): print('\x1eagentpost-agent {\"protocol\": 0}')\n"
        (installed / "agentpost/author/description.py").write_text(old)
    server = make_server(tmp_path / "server", program, **settings)
    with pytest.raises(AssertionError, match="the server ended with 1") as refused:
        server.start()
    log = " ".join(refused.value.__notes__)
    assert all(reason in log for reason in reasons), log
    assert "Traceback" not in log
