"""A job whose code changed waits for code that makes its recorded calls (design: The journal)."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, eventually

__all__ = ["cluster"]

CODE = """
from agentpost.agents import Job, Turn
from tests.e2e.agent_steps import mark, pass_gate

async def agent(turn: Turn) -> None:
    await turn.start({function}, title="Work")
    turn.reply("begun")

async def {function}(job: Job) -> str:
    await job.step(mark, "first")
    await job.step(mark, "{second}")
    await pass_gate("between")
    await job.step(mark, "third")
    return "all done"
"""
RECORDED = CODE.format(function="work", second="second")
DIFFERENT = CODE.format(function="work", second="other")
FORWARD = RECORDED.replace("all done", "better")
END = {RECORDED: "all done", FORWARD: "better"}
CALL_DIFFERS = "call 2 was step tests.e2e.agent_steps:mark and is now step"
JOB_IS_MISSING = "its function changing:work is not there"
WITHOUT_JOB = CODE.format(function="renamed", second="second")
WRONG = {DIFFERENT: CALL_DIFFERS, WITHOUT_JOB: JOB_IS_MISSING}
ONCE = {"first": 1, "second": 1, "third": 1}
WAITS = "Waits for its code"


class Deployed:
    """A server whose agent is a file, with a job that has recorded two steps."""

    def __init__(self, home: Path, **settings: Any) -> None:
        server = self.server = AgentServer(
            home, agent="changing:agent", metrics_token="m", **settings
        )
        self.save(RECORDED)
        server.start()
        self.caller = Caller(server)
        self.message_id = self.caller.send("go")["id"]
        server.await_gate("between")
        [row] = server.rows("SELECT id FROM jobs WHERE state = 'running'")
        self.job_id: str = row["id"]

    def save(self, code: str) -> None:
        """What the next start runs."""
        (self.server.home / "changing.py").write_text(code)

    def deploy(self, code: str) -> None:
        """Kill the server; start it with that code."""
        self.server.kill()
        self.save(code)
        self.server.start()

    def waits(self) -> list[str]:
        """The lines of the log that say that the job waits, once there is one."""

        def lines() -> list[str]:
            log = self.caller.log(self.message_id)
            return [line["step"] for line in log if WAITS in line.get("step", "")]

        return eventually(lines, what="a line in the log")

    def final(self) -> dict[str, Any]:
        done: dict[str, Any] = self.caller.final(self.message_id)
        return done

    def problems(self) -> list[str]:
        """What the doctor says of the job."""
        found = self.server.findings()
        return [each["problem"] for each in found if each["id"] == self.job_id]

    def is_a_problem(self, text: str) -> bool:
        return any(text in each for each in self.problems())

    def metric(self) -> str:
        text = httpx2.get(
            f"{self.server.url}/metrics", headers={"Authorization": "Bearer m"}, timeout=PATIENCE
        ).text
        [line] = [each for each in text.splitlines() if each.startswith("agentpost_jobs_waiting")]
        return line.split()[-1]


@pytest.fixture
def deployed(tmp_path: Path) -> Any:
    with ExitStack() as ends:

        def make(**settings: Any) -> Deployed:
            made = Deployed(tmp_path / "server", **settings)
            ends.push(made.server)
            return made

        yield make


Deploy = Callable[..., Deployed]


@pytest.mark.parametrize(("processes", "right"), [(0, FORWARD), (1, RECORDED)])
def test_a_wrong_deploy_is_said_everywhere_and_taken_back(
    deployed: Deploy, processes: int, right: str
) -> None:
    """First a call differs, then the job's function is missing."""
    here = deployed(agent_processes=processes)
    for number, (wrong, differs) in enumerate(WRONG.items(), start=1):
        here.deploy(wrong)
        eventually(lambda n=number: len(here.waits()) == n, what="a line in the log")  # type: ignore[misc]
        assert differs in here.waits()[-1]
        assert here.caller.get(here.message_id)["status"] == "processing"
        eventually(lambda of=differs: here.is_a_problem(of), what="the doctor's word")  # type: ignore[misc]
        eventually(lambda: here.metric() == "1.0", what="the metric")
        summary = here.server.command("explain", here.message_id)["message"]
        assert differs in summary["jobs"][here.job_id]["divergence"]
    [reported] = [line for line in here.server.log_lines() if "run_diverged" in line]
    # What was killed may have left half a line before it.
    line = json.loads(reported[reported.index("{") :])
    assert (line["owner"], line["call"], line["differs"]) == (here.job_id, 2, "the arguments")
    assert line["recorded"] == line["made_now"] == "step tests.e2e.agent_steps:mark"
    story = here.server.command("explain", here.message_id)["story"]
    causes = [each["facts"]["cause"] for each in story if each["what"] == "CodeChanged"]
    assert 'arguments: recorded ["second"], made ["other"]' in causes[0]
    here.deploy(WITHOUT_JOB)
    eventually(lambda: here.metric() == "1.0", what="that it waits again")
    here.server.open_gate("between")
    here.deploy(right)
    done = here.final()
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", END[right])
    assert Counter(here.server.steps()) == ONCE
    assert len(here.waits()) == len(WRONG), "each is told once"
    assert here.metric() == "0.0"
    eventually(lambda: here.problems() == [], what="nothing for the doctor to say")


def test_the_operator_tries_now_and_ends_it(deployed: Deploy) -> None:
    """A job that does not wait is neither."""
    here = deployed()
    code, said = here.server.run("jobs", "fail", here.job_id)
    assert code == 1
    assert "does not wait for its code" in said
    here.deploy(DIFFERENT)
    here.waits()
    epoch = "SELECT epoch FROM jobs"
    before = here.server.rows(epoch)
    here.server.command("jobs", "retry", here.job_id)
    eventually(lambda: here.server.rows(epoch) != before, what="another run")
    eventually(lambda: here.metric() == "1.0", what="that it waits again")
    assert here.caller.get(here.message_id)["status"] == "processing"
    here.server.command("jobs", "fail", here.job_id)
    done = here.final()
    assert (done["status"], done["reason"]) == ("failed", "execution_failed")
    eventually(lambda: here.metric() == "0.0", what="the end of its run")


def test_the_caller_cancels_it(deployed: Deploy) -> None:
    here = deployed()
    here.deploy(DIFFERENT)
    here.waits()
    here.caller.call("POST", f"/v1/messages/{here.message_id}/cancel")
    assert here.final()["jobs"][0]["status"] == "cancelled"
    eventually(lambda: here.metric() == "0.0", what="the end of its run")


@pytest.mark.parametrize(("seconds", "lines"), [(0, 0), (2, 1)])
def test_it_fails_when_it_has_waited_long_enough(
    deployed: Deploy, seconds: float, lines: int
) -> None:
    here = deployed(code_changed_wait_seconds=seconds)
    here.deploy(DIFFERENT)
    done = here.final()
    assert (done["status"], done["reason"]) == ("failed", "execution_failed")
    log = here.caller.log(here.message_id)
    assert "code changed" in next(line for line in log if line["type"] == "result")["text"]
    assert sum(WAITS in line.get("step", "") for line in log) == lines


def test_a_node_with_the_recorded_code_takes_it(cluster: Cluster, tmp_path: Path) -> None:
    """It waits on a node that lives; one that starts has the code."""
    for name, code in (("node0", RECORDED), ("node1", DIFFERENT)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "changing.py").write_text(code)
    recorded = cluster.start(agent="changing:agent")
    message = Caller(recorded).send("go")
    recorded.await_gate("between")
    different = cluster.start(agent="changing:agent")
    recorded.kill()
    caller = Caller(different)

    def waits() -> bool:
        return any(WAITS in line.get("step", "") for line in caller.log(message["id"]))

    eventually(waits, what="the other node's word")
    recorded.open_gate("between")
    assert caller.get(message["id"])["status"] == "processing"
    recorded.start()
    assert caller.final(message["id"])["status"] == "completed"
    assert Counter(recorded.steps()) == ONCE
