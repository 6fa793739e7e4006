"""Steps under another user: what they may do to the server and to what it stores (design: Steps
apart)."""

import base64
import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    home = tmp_path_factory.mktemp("server")
    made = AgentServer(home, agent="tests.e2e.apart:agent", step_user=NOBODY, pool_workers=2)
    made.wrapped_by = wrapping()
    yield made.start()
    if made.process is not None:
        made.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a step may write to; those of the tests are closed to other users."""
    with TemporaryDirectory(prefix="agentpost-notes-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_a_step_reads_its_file_and_nothing_of_the_server(caller: Caller) -> None:
    done = caller.final(caller.send("look", files=GIVEN)["id"])
    found = literal_eval(done["jobs"][0]["text"])
    assert found["user"] == [NOBODY, NOBODY, []]
    assert found["text"] == "for one step"
    assert found["written"] == len("mine")
    assert found["secrets"] == []
    files = ["database", "blobs", "environment", "memory", "descriptors"]
    refused = [*files, "signal", "supervisor", "root"]
    assert {name: found[name] for name in refused} == dict.fromkeys(refused, "PermissionError")


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
