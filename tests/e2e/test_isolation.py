"""Agent processes: what an author's code does to its process hurts nothing else (design: Agent
processes).
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.e2e.test_agents import (
    test_a_broken_step_fails_the_job_and_costs_nothing,
    test_a_job_hears_what_is_said_to_it,
    test_an_exception_fails_the_turn_or_the_job,
    test_memory_is_kept_only_when_the_turn_ends_well,
)
from tests.e2e.test_logs import lines, soon
from tests.servers import Postgres
from tests.waiting import eventually

__all__ = [
    "test_a_broken_step_fails_the_job_and_costs_nothing",
    "test_a_job_hears_what_is_said_to_it",
    "test_an_exception_fails_the_turn_or_the_job",
    "test_memory_is_kept_only_when_the_turn_ends_well",
]
"""Of the tests of the same agent in the server's own process, those that cost nothing."""


SETTINGS = {
    "agent": "tests.e2e.misbehaving:agent",
    "agent_processes": 2,
    "agent_memory_bytes": 300 << 20,
    "agent_stall_seconds": 3,
    "constants": {"agentpost.nodes.poison_rules.DEATHS_MAX": 2},
}
"""Two deaths are too many, where six are."""


def pids(server: AgentServer, name: str) -> list[int]:
    """The processes that left a trace of that name."""
    return [int(line.split()[1]) for line in server.trace() if line.split()[0] == name]


@pytest.fixture(scope="module")
def steady(caller: Caller, server: AgentServer) -> str:
    """The message of a job that works on, whatever the others do."""
    message_id: str = caller.send("job steady", conversation="steady")["id"]
    server.await_gate("steady")
    return message_id


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("exit", "its process exited with code 3"),
        ("killed", "its process was killed from outside (SIGKILL)"),
        ("leak", "it ran out of memory (the limit is 300 MiB)"),
        ("garble", "it said what cannot be understood"),
        ("hang", "it held its process for 3 s"),
        ("freeze", "it held its process for 3 s"),
    ],
)
def test_what_ends_its_process_runs_again(
    server: AgentServer, caller: Caller, how: str, reason: str
) -> None:
    """What was recorded is not done twice; others are answered meanwhile."""
    sent = caller.send(f"job {how} once")
    assert caller.send("hello")["reply"] == "You said: hello"
    done = caller.final(sent["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", f"{how} is done")
    assert (server.steps().count(f"{how}.step"), server.steps().count(how)) == (1, 2)
    job_id = done["jobs"][0]["job_id"]
    deaths = [line for line in lines(server, "agent_process_died") if job_id in line["runs"]]
    assert reason in deaths[0]["reason"]


def test_what_ends_each_process_fails_and_says_why(
    server: AgentServer, caller: Caller, steady: str
) -> None:
    """The job that worked on meanwhile ends well, and did nothing twice."""
    failed = caller.final(caller.send("job exit")["id"])
    assert failed["jobs"][0]["status"] == "failed"
    assert "again and again" in failed["jobs"][0]["text"]
    bodies = [json.loads(row["body_json"]) for row in server.rows("SELECT body_json FROM signals")]
    causes = {body["cause"] for body in bodies if body.get("cause")}
    assert "its agent process ended: its process exited with code 3" in causes
    server.open_gate("steady")
    done = caller.final(steady)
    assert (done["jobs"][0]["text"], server.steps().count("steady.step")) == ("steady is done", 1)


def test_a_turn_that_ends_each_process_fails(server: AgentServer, caller: Caller) -> None:
    failed = caller.send("turn exit", conversation="a turn of its own")
    assert (failed["status"], failed["reason"]) == ("failed", "turn_failed")
    assert caller.send("and on", conversation="a turn of its own")["status"] == "completed"


def test_a_death_is_no_answer_of_a_step_that_runs_there(
    server: AgentServer, caller: Caller
) -> None:
    """A coroutine step beside the one whose doing it was is run again."""
    sent = caller.send("job rest", conversation="to rest")
    eventually(lambda: server.steps().count("rest") == 1, what="the step")
    os.kill(pids(server, "rest")[0], signal.SIGKILL)
    server.open_gate("rest")
    done = caller.final(sent["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", "rest is done")
    assert server.steps().count("rest") == 2


def test_a_job_that_hangs_is_stopped(server: AgentServer, caller: Caller) -> None:
    """Long before anybody notices that it hangs."""
    before = len(lines(server, "agent_process_stalled"))
    hanged = server.steps().count("hang")
    sent = caller.send("job hang", conversation="to be stopped")
    eventually(lambda: server.steps().count("hang") > hanged, what="the hanging job")
    (job,) = caller.get(sent["id"])["jobs"]
    assert caller.call("POST", f"/v1/work/{job['work_id']}/stop").status_code == 200
    assert caller.final(sent["id"])["jobs"][0]["status"] == "cancelled"
    pid = pids(server, "hang")[-1]
    eventually(lambda: not Path(f"/proc/{pid}").exists(), what="the end of its process")
    assert len(lines(server, "agent_process_stalled")) == before


def test_it_logs_as_in_the_servers_own_process(server: AgentServer, caller: Caller) -> None:
    message = caller.final(caller.send("job says")["id"])
    job_id = message["jobs"][0]["job_id"]
    ids = {"message_id": message["id"], "job_id": job_id}
    (printed,) = soon(server, "agent_output", job_id=job_id)
    (logged,) = soon(server, "agent_log", job_id=job_id)
    (failed,) = soon(server, "job_failed", job_id=job_id)
    assert (printed["line"], logged["message"]) == ("printed", "logged")
    for line in (printed, logged, failed):
        assert {name: line[name] for name in ids} == ids
    assert "LookupError: the shop is closed" in failed["exception"]
    assert 'raise LookupError("the shop is closed")' in failed["exception"]
    story = json.dumps(server.command("explain", message["id"]))
    assert "printed" in story
    assert "LookupError: the shop is closed (misbehaving.py, line " in story
    eventually(lambda: "loud outside runs" in server.log_file.read_text(), what="the warning")
    assert "quiet outside runs" not in server.log_file.read_text()


def test_an_authors_own_class_of_failure_is_one(server: AgentServer, caller: Caller) -> None:
    failed = caller.final(caller.send("job closes")["id"])
    assert failed["jobs"][0]["text"] == "The shop is closed on Sundays."


def test_what_comes_of_a_try_too_late_is_not_taken(server: AgentServer, caller: Caller) -> None:
    done = caller.final(caller.send("job late")["id"])
    assert (done["status"], server.steps().count("late")) == ("completed", 2)
    assert done["jobs"][0]["text"] == "try 2"


def test_it_has_no_secret_and_the_server_has_not_its_code(
    server: AgentServer, caller: Caller
) -> None:
    """Nor does it import what draws tracebacks, a third of what is imported at each start."""
    names = json.loads(caller.send("environment")["reply"])
    assert "TEST_TRACE" in names
    assert [name for name in names if name.startswith("AGENTPOST_")] == []
    assert server.pid not in pids(server, "imported")
    loaded = [caller.send(f"loaded {name}")["reply"] for name in ("structlog", "rich")]
    assert loaded == ["True", "False"]


@pytest.fixture(scope="module")
def limited(postgres: Postgres, start_server: ServerMaker) -> Iterator[AgentServer]:
    """A server on PostgreSQL with one process, which may use little."""
    with postgres.database(postgres.schema()) as url:
        settings = {**SETTINGS, "agent_processes": 1, "agent_cpu_seconds": 2}
        with start_server(database_url=url, **settings) as server:
            yield server


@pytest.fixture(scope="module")
def sender(limited: AgentServer) -> Caller:
    return Caller(limited)


def test_one_that_uses_half_of_its_memory_is_replaced(limited: AgentServer, sender: Caller) -> None:
    """It ends its work, and with that itself; others run in the next one."""
    sent = sender.send("job fill")
    limited.await_gate("fill")
    (full,) = pids(limited, "fill")
    eventually(lambda: sender.send("where")["reply"] != str(full), what="another process")
    limited.open_gate("fill")
    assert sender.final(sent["id"])["jobs"][0]["text"] == "fill is done"
    eventually(lambda: not Path(f"/proc/{full}").exists(), what="the end of the full process")
    assert lines(limited, "agent_process_died") == []


def test_one_that_uses_too_much_cpu_time_is_ended(limited: AgentServer, sender: Caller) -> None:
    """The kernel does it; on PostgreSQL, too, the job runs again in another one."""
    done = sender.final(sender.send("job burn")["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", "burn is done")
    assert (limited.steps().count("burn.step"), limited.steps().count("burn")) == (1, 2)
    (died,) = lines(limited, "agent_process_died")
    assert "more than 2 s of CPU time" in died["reason"]


def test_no_process_outlives_a_killed_server(server: AgentServer, caller: Caller) -> None:
    """Not even one that hangs."""
    hanged = server.steps().count("hang")
    caller.send("job hang", conversation="to be orphaned")
    eventually(lambda: server.steps().count("hang") > hanged, what="the hanging job")
    server.kill()
    left = {pid for name in ("imported", "hang") for pid in pids(server, name)}
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left), what="their end")
