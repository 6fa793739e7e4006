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
    return server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    server = serving(tmp_path_factory.mktemp("server"), "setpriv")
    yield server.start()
    if server.process is not None:
        server.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a step may write to; those of the tests are closed to other users."""
    with TemporaryDirectory(prefix="agentpost-notes-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def look(caller: Caller) -> dict[str, Any]:
    """What a step finds that tries everything; see `apart.look`."""
    done = caller.final(caller.send("look", files=GIVEN)["id"])
    findings: dict[str, Any] = literal_eval(done["jobs"][0]["text"])
    assert findings["text"] == "for one step"
    assert findings["written"] == len("mine")
    assert findings["secrets"] == []
    return findings


OUT_OF_REACH = ("database", "blobs", "environment", "memory", "descriptors", "signal", "root")


def test_a_step_reads_its_file_and_nothing_of_the_server(caller: Caller) -> None:
    findings = look(caller)
    assert findings["user"] == [NOBODY, NOBODY, []]
    reached = {name: findings[name] for name in OUT_OF_REACH}
    assert reached == dict.fromkeys(OUT_OF_REACH, "PermissionError")


@pytest.mark.parametrize("prefix", ["sudo", "unshare", "bwrap"])
def test_so_it_is_with_other_commands(prefix: str, tmp_path: Path) -> None:
    if shutil.which(PREFIXES[prefix][0]) is None:
        pytest.skip(f"{prefix} is not installed: apt-get install sudo bubblewrap")
    server = serving(tmp_path, prefix).start()
    try:
        caller = Caller(server)
        findings = look(caller)
        caller.close()
    finally:
        server.stop()
    assert [name for name in OUT_OF_REACH if findings[name] == "done"] == []


def test_files_are_read_by_that_user_too(caller: Caller) -> None:
    assert caller.final(caller.send("text", files=GIVEN)["id"])["reply"] == "for one step"


def test_what_a_step_makes_comes_back(caller: Caller) -> None:
    done = caller.final(caller.send("make")["id"])
    texts = {file["name"]: httpx2.get(file["url"]).text for file in done["jobs"][0]["files"]}
    assert texts == {"plain.txt": "made here", "path.txt": "made below"}


def test_a_link_leads_no_further_than_the_step_itself(caller: Caller) -> None:
    """The server never opens what a step names."""
    done = caller.final(caller.send("link")["id"])
    (job,) = done["jobs"]
    assert (job["status"], job["files"]) == ("failed", [])


def test_nothing_is_left_of_a_killed_server(
    caller: Caller, server: AgentServer, open_folder: Path
) -> None:
    """Neither the step, nor a program of it that has left its group and session; its files go with
    the next start."""
    caller.send(f"hang {open_folder}")
    note = open_folder / "pids"
    eventually(note.exists, what="the step")
    pids = [int(pid) for pid in note.read_text().split()]
    assert not any(gone(pid) for pid in pids)
    scratch = server.home / "data" / "scratch"
    folders = [link.readlink() for link in scratch.glob(f"*/{ELSEWHERE}")]
    assert [folder.parent for folder in folders] == [Path("/tmp")]
    server.kill()
    eventually(lambda: all(gone(pid) for pid in pids), what="the end of the step")
    Scratch(scratch, "next").close()
    assert not any(folder.exists() for folder in folders)


# --- agent processes ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """A server whose turns and jobs run apart as well."""
    server = serving(tmp_path_factory.mktemp("agents"), "setpriv", agent_processes=2)
    yield server.start()
    if server.process is not None:
        server.stop()


def look_from_turn(server: AgentServer) -> dict[str, Any]:
    """What a coroutine of the agent finds that tries everything."""
    caller = Caller(server)
    assert server.process is not None
    text = f"here {server.home / 'data'} {server.process.pid}"
    reply = caller.final(caller.send(text, files=GIVEN)["id"])["reply"]
    caller.close()
    findings: dict[str, Any] = literal_eval(reply)
    assert (findings["text"], findings["written"]) == ("for one step", len("mine"))
    assert findings["secrets"] == []
    return findings


def test_a_turn_in_an_agent_process_reaches_nothing_of_the_server(agents: AgentServer) -> None:
    findings = look_from_turn(agents)
    assert findings["user"] == [NOBODY, NOBODY, []]
    reached = {name: findings[name] for name in OUT_OF_REACH}
    assert reached == dict.fromkeys(OUT_OF_REACH, "PermissionError")


@pytest.mark.parametrize("prefix", ["sudo", "bwrap"])
def test_so_it_is_in_agent_processes_of_other_commands(prefix: str, tmp_path: Path) -> None:
    if shutil.which(PREFIXES[prefix][0]) is None:
        pytest.skip(f"{prefix} is not installed: apt-get install sudo bubblewrap")
    server = serving(tmp_path, prefix, agent_processes=1).start()
    try:
        findings = look_from_turn(server)
    finally:
        server.stop()
    assert [name for name in OUT_OF_REACH if findings[name] == "done"] == []


def test_what_a_job_in_an_agent_process_writes_comes_back(agents: AgentServer) -> None:
    caller = Caller(agents)
    done = caller.final(caller.send("write")["id"])
    texts = {file["name"]: httpx2.get(file["url"]).text for file in done["jobs"][0]["files"]}
    assert texts == {
        "bytes.txt": "x" * 1_000_000,
        "path.txt": "made below",
        "coroutine.txt": "made below",
    }
    for how in ("write-link", "write-lie"):
        (job,) = caller.final(caller.send(f"{how} {agents.home / 'data'}")["id"])["jobs"]
        assert (job["status"], job["files"]) == ("failed", []), how
    caller.close()


def test_nothing_is_left_of_an_agent_process_of_a_killed_server(
    agents: AgentServer, open_folder: Path
) -> None:
    caller = Caller(agents)
    caller.send(f"hang-here {open_folder}")
    note = open_folder / "pids"
    eventually(note.exists, what="the job")
    pids = [int(pid) for pid in note.read_text().split()]
    assert not any(gone(pid) for pid in pids)
    scratch = agents.home / "data" / "scratch"
    folders = [link.readlink() for link in scratch.glob(f"*/agents/{ELSEWHERE}")]
    assert [folder.parent for folder in folders] == [Path("/tmp")]
    agents.kill()
    caller.close()
    eventually(lambda: all(gone(pid) for pid in pids), what="the end of the job")
    Scratch(scratch, "next").close()
    assert not any(folder.exists() for folder in folders)
