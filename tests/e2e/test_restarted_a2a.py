"""An agent behind `a2a:` whose server is killed and comes back while a job follows its task."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import ROOT, AgentServer
from tests.processes.watching import gone
from tests.servers import free_port
from tests.waiting import eventually

RESULT = "It is done."


class Elsewhere:
    """The other side's process, on one port and one folder."""

    def __init__(self, parent: subprocess.Popen[str], folder: Path, *, streams: bool) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._streams = streams
        self._parent = parent
        self._pid: int | None = None

    def start(self) -> None:
        """Start it; what it knew is in the folder."""
        assert self._parent.stdin
        assert self._parent.stdout
        self._parent.stdin.write(json.dumps([self.port, str(self.folder), self._streams]) + "\n")
        self._parent.stdin.flush()
        self._pid = int(self._parent.stdout.readline())
        eventually(self._answers, 60.0, "the other side")

    def kill(self) -> None:
        """End it at once."""
        if self._pid is not None:
            pid, self._pid = self._pid, None
            os.kill(pid, signal.SIGKILL)
            eventually(lambda: gone(pid), what="its end")

    def put(self, name: str) -> None:
        """Make one of the files that it looks for."""
        (self.folder / name).touch()

    @property
    def tasks(self) -> int:
        """How many it has written."""
        return len(list(self.folder.glob("*.task")))

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/.well-known/agent-card.json").status_code == 200
        except httpx2.TransportError:
            return False


class Following:
    """A server whose two jobs follow a task each of the other side, which was killed meanwhile."""

    def __init__(self, start_server: ServerMaker, other: Elsewhere) -> None:
        self.other = other
        self.other.start()
        self.server: AgentServer = start_server(
            agent=f"a2a:{self.other.url}", egress_allow="127.0.0.0/8"
        )
        self.caller = Caller(self.server)
        self.first, self.second = (
            self.caller.send("work", conversation=name)["id"] for name in ("one", "two")
        )
        eventually(lambda: self.other.tasks == 2, what="the tasks")
        for each in (self.first, self.second):
            eventually(lambda of=each: self.caller.get(of)["jobs"], what="the job")  # type: ignore[misc]
        self.other.kill()
        eventually(lambda: len(self._missed()) == 2, what="a look for each that failed")

    def _missed(self) -> set[str]:
        """The tasks that were looked for in vain."""
        lines = [line for line in self.server.log_lines() if "agent_away" in line]
        return {json.loads(line)["task"] for line in lines}


@pytest.fixture(scope="module")
def parent() -> Iterator[subprocess.Popen[str]]:
    """The process that is forked."""
    command = [sys.executable, "-m", "tests.conformance.elsewhere.restarted_a2a"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.communicate()


@pytest.fixture(params=[True, False], ids=["streams", "polls"])
def following(
    start_server: ServerMaker,
    tmp_path: Path,
    parent: subprocess.Popen[str],
    request: pytest.FixtureRequest,
) -> Iterator[Following]:
    other = Elsewhere(parent, tmp_path, streams=request.param)
    try:
        yield Following(start_server, other)
    finally:
        other.kill()


def test_a_job_follows_its_task_over_restarts_of_both(following: Following) -> None:
    """Unless it was cancelled meanwhile."""
    here = following
    here.server.restart()
    assert here.caller.get(here.first)["status"] == "processing"
    here.caller.call("POST", f"/v1/messages/{here.second}/cancel")
    assert here.caller.final(here.second)["jobs"][0]["status"] == "cancelled"
    here.other.start()
    here.other.put("done")
    done = here.caller.final(here.first)
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", RESULT)


@pytest.mark.parametrize("following", [True], ids=["streams"], indirect=True)
def test_a_task_that_is_forgotten_ends_the_job(following: Following) -> None:
    here = following
    here.other.put("forget")
    here.other.start()
    for each in (here.first, here.second):
        done = here.caller.final(each)
        assert done["status"] == "failed"
        assert "no longer knows its task" in done["jobs"][0]["text"]
