"""Steps that a command prefix starts: what they may do to the server and to what it stores (design:
Steps apart)."""

import base64
import json
import os
import shutil
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from agentpost.storage.scratch import ELSEWHERE, Scratch
from tests.e2e.caller import Caller
from tests.e2e.server import ROOT, AgentServer
from tests.processes.watching import gone
from tests.waiting import eventually

NOBODY = 65534
PYTHON = str(Path(sys.executable).resolve())
ENTERABLE = Path(__file__).with_name("enterable.sh")
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
EXEC = ("sh", "-c", 'exec "$@"', "sh")
"""setpriv itself starts its program with root's rights for files."""
GIVEN = [{"name": "given.txt", "base64": base64.b64encode(b"for one step").decode()}]


def wrapping() -> tuple[str, ...]:
    """A command by which a server is started whose interpreter another user can run, too."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can start processes of another user on Linux: run the tests as root")
    namespace = ("unshare", "--mount", "--propagation=private", str(ENTERABLE), PYTHON)
    for wrapped in ((), namespace):
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tests.e2e.apart"
        tried = subprocess.run(
            [*wrapped, *AS_NOBODY, *EXEC, sys.executable, "-P", "-c", code],
            capture_output=True,
            check=False,
            cwd="/",
        )
        if tried.returncode == 0:
            return wrapped
    pytest.skip(f"user {NOBODY} cannot run this interpreter: {tried.stderr.decode()[-300:]}")


PREFIXES = {
    "setpriv": [*AS_NOBODY, "--no-new-privs"],
    "sudo": ["sudo", "-n", "-u", "#65534", "-g", "#65534"],
    "unshare": ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *AS_NOBODY],
    "bwrap": [
        *["bwrap", "--unshare-all", "--uid", "65534", "--gid", "65534", "--die-with-parent"],
        *["--cap-drop", "ALL", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev", "/dev"],
        *["--ro-bind", str(ROOT), str(ROOT)],  # the checkout may be below /tmp
        *["--proc", "/proc", "--bind", "{folder}", "{folder}"],
    ],
}


def serving(home: Path, prefix: str, agent_processes: int = 0) -> AgentServer:
    server = AgentServer(
        home,
        agent="tests.e2e.apart:agent",
        worker_command_prefix=json.dumps(PREFIXES[prefix]),
        pool_workers=2,
        agent_processes=agent_processes,
    )
    server.wrapped_by = wrapping()
    return server.start()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    with serving(tmp_path_factory.mktemp("server"), "setpriv") as server:
        yield server


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """A server whose turns and jobs run apart as well."""
    with serving(tmp_path_factory.mktemp("agents"), "setpriv", agent_processes=2) as server:
        yield server


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a step may write to; those of the tests are closed to other users."""
    with TemporaryDirectory(prefix="agentpost-notes-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def look(server: AgentServer, *, from_turn: bool) -> dict[str, Any]:
    """What a step, or a coroutine of the agent, finds that tries everything; see `apart.look`."""
    caller = Caller(server)
    if from_turn:
        text = f"here {server.home / 'data'} {server.pid}"
        report = caller.final(caller.send(text, files=GIVEN)["id"])["reply"]
    else:
        report = caller.final(caller.send("look", files=GIVEN)["id"])["jobs"][0]["text"]
    findings: dict[str, Any] = literal_eval(report)
    assert (findings["text"], findings["written"]) == ("for one step", len("mine"))
    assert findings["secrets"] == []
    return findings


OUT_OF_REACH = ("database", "blobs", "environment", "memory", "descriptors", "signal", "root")


@pytest.mark.parametrize("name", ["server", "agents"])
def test_a_step_or_a_turn_reads_its_file_and_nothing_of_the_server(
    name: str, request: pytest.FixtureRequest
) -> None:
    findings = look(request.getfixturevalue(name), from_turn=name == "agents")
    assert findings["user"] == [NOBODY, NOBODY, []]
    reached = {name: findings[name] for name in OUT_OF_REACH}
    assert reached == dict.fromkeys(OUT_OF_REACH, "PermissionError")


@pytest.mark.parametrize(
    ("prefix", "processes"),
    [("sudo", 0), ("unshare", 0), ("bwrap", 0), ("sudo", 1), ("bwrap", 1)],
)
def test_so_it_is_with_other_commands(prefix: str, processes: int, tmp_path: Path) -> None:
    if shutil.which(PREFIXES[prefix][0]) is None:
        pytest.skip(f"{prefix} is not installed: apt-get install sudo bubblewrap")
    with serving(tmp_path, prefix, processes) as server:
        findings = look(server, from_turn=processes > 0)
    assert [name for name in OUT_OF_REACH if findings[name] == "done"] == []


def test_files_are_read_by_that_user_too(caller: Caller) -> None:
    assert caller.final(caller.send("text", files=GIVEN)["id"])["reply"] == "for one step"


def texts_of(caller: Caller, message: str) -> dict[str, str]:
    """The files that its job wrote."""
    files = caller.final(caller.send(message)["id"])["jobs"][0]["files"]
    return {file["name"]: httpx2.get(file["url"]).text for file in files}


def test_what_a_step_makes_comes_back(caller: Caller) -> None:
    assert texts_of(caller, "make") == {"plain.txt": "made here", "path.txt": "made below"}


def test_what_a_job_in_an_agent_process_writes_comes_back(agents: AgentServer) -> None:
    assert texts_of(Caller(agents), "write") == {
        "bytes.txt": "x" * 1_000_000,
        "path.txt": "made below",
        "coroutine.txt": "made below",
    }


@pytest.mark.parametrize(
    ("name", "how"), [("server", "link"), ("agents", "write-link"), ("agents", "write-lie")]
)
def test_a_link_or_a_lie_leads_no_further_than_the_step_itself(
    name: str, how: str, request: pytest.FixtureRequest
) -> None:
    """The server never opens what a step names."""
    server: AgentServer = request.getfixturevalue(name)
    caller = Caller(server)
    (job,) = caller.final(caller.send(f"{how} {server.home / 'data'}")["id"])["jobs"]
    assert (job["status"], job["files"]) == ("failed", [])


@pytest.mark.parametrize(
    ("name", "how", "below"), [("server", "hang", "*"), ("agents", "hang-here", "*/agents")]
)
def test_nothing_is_left_of_a_killed_server(
    name: str, how: str, below: str, open_folder: Path, request: pytest.FixtureRequest
) -> None:
    """Neither the step or job, nor a program of it that has left its group and session; its files
    go with the next start."""
    server: AgentServer = request.getfixturevalue(name)
    Caller(server).send(f"{how} {open_folder}")
    note = open_folder / "pids"
    eventually(note.exists, what="the step")
    pids = [int(pid) for pid in note.read_text().split()]
    assert not any(gone(pid) for pid in pids)
    scratch = server.home / "data" / "scratch"
    folders = [link.readlink() for link in scratch.glob(f"{below}/{ELSEWHERE}")]
    assert [folder.parent for folder in folders] == [Path("/tmp")]
    server.kill()
    eventually(lambda: all(gone(pid) for pid in pids), what="the end of the step")
    Scratch(scratch, "next").close()
    assert not any(folder.exists() for folder in folders)
