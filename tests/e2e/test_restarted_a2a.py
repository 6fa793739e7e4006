"""An agent behind `a2a:` whose server is killed and comes back while a job follows its task."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import ROOT, AgentServer
from tests.servers import free_port
from tests.waiting import eventually

RESULT = "It is done."


class Elsewhere:
    """The other side's process, on one port and one folder."""

    def __init__(self, folder: Path, *, streams: bool) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._streams = "1" if streams else "0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; what it knew is in the folder."""
        module = "tests.conformance.elsewhere.restarted_a2a"
        arguments = [str(self.port), str(self.folder), self._streams]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL
        )
        eventually(self._answers, 60.0, "the other side")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

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

    def __init__(self, start_server: ServerMaker, folder: Path, *, streams: bool) -> None:
        self.other = Elsewhere(folder, streams=streams)
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

    def end(self) -> None:
        self.other.kill()


@pytest.fixture(params=[True, False], ids=["streams", "polls"])
def following(
    start_server: ServerMaker, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Following]:
    made = Following(start_server, tmp_path, streams=request.param)
    yield made
    made.end()


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
