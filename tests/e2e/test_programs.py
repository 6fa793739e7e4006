"""Programs as the agent (`cmd:`): how their processes end, and those that stay."""

import os
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.e2e.test_logs import soon
from tests.waiting import PROMPT, eventually

PROGRAM = Path(__file__).with_name("program.py")
AGENT = f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))}"
SETTINGS = {"agent": AGENT, "step_cpu_seconds": 1}


def reply(caller: Caller, text: str, conversation: str = "") -> str:
    message = caller.send(text, conversation=conversation or text)
    assert message["status"] == "completed", message
    return str(message["reply"])


def has_ended(pid: str | int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def group_of(pid: str) -> list[str]:
    """The processes left of a program's group."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if group == pid and state != "Z":
            members.append(stat.parent.name)
    return members


def pipes(server: AgentServer) -> int:
    """How many pipes the server has open."""
    links = []
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        with suppress(OSError):
            links.append(str(link.readlink()))
    return sum(link.startswith("pipe:") for link in links)


@pytest.mark.parametrize("what", ["leave out", "leave error", "leave session", "writes"])
def test_a_child_that_is_left_behind_holds_no_turn(
    caller: Caller, server: AgentServer, what: str
) -> None:
    """Nor does it live on, unless it has left the group."""
    before = pipes(server)
    began = time.monotonic()
    pid = reply(caller, what)
    assert time.monotonic() - began < PROMPT
    eventually(lambda: not group_of(pid), what="the end of its group")
    eventually(lambda: pipes(server) <= before, what="the end of its pipes")


def test_a_child_may_have_the_last_words(caller: Caller, server: AgentServer) -> None:
    assert reply(caller, "lets a child speak").endswith("\n\nthe last words")


@pytest.mark.parametrize(("what", "code"), [("killed", "-9"), ("burns 100", "-24")])
def test_a_program_that_is_killed_fails_its_turn(
    caller: Caller, server: AgentServer, what: str, code: str
) -> None:
    began = time.monotonic()
    message = caller.send(what, conversation=what)
    assert (message["status"], message["reason"]) == ("failed", "turn_failed")
    assert time.monotonic() - began < PROMPT
    eventually(lambda: f"the program ended with code {code}" in server.log_tail())


def test_one_that_stays_has_run_after_run(caller: Caller, server: AgentServer) -> None:
    """Turns of several conversations and jobs, also after a run that failed or left an answer
    unread; each has the limit of CPU time anew, and its own lines of the log."""
    pid = reply(caller, "hello stay")
    for text in ("burns 0.6 stay", "burns 0.5 stay", "unread stay", "hello again stay"):
        assert reply(caller, text) == pid
    failed = caller.send("fails stay", conversation="fails")
    assert (failed["status"], failed["reply"]) == ("failed", None)
    started = caller.send("starts burns 0.6 stay", conversation="starts")
    done = caller.final(started["id"])
    assert (done["status"], started["reply"]) == ("completed", pid)
    assert not has_ended(pid)
    (line,) = soon(server, "agent_output", line="it was asked: fails stay")
    assert line["message_id"] == failed["id"]


@pytest.mark.parametrize("what", ["strays", "dies", "ended from outside"])
def test_one_that_says_more_or_has_ended_has_no_further_run(
    caller: Caller, server: AgentServer, what: str
) -> None:
    """The next run does not notice."""
    pid = reply(caller, f"{what} stay")
    if what.startswith("ended"):
        os.kill(int(pid), signal.SIGKILL)
    assert reply(caller, "hello stay", "next") != pid
    eventually(lambda: has_ended(pid), what="its end")


def test_runs_at_once_have_a_process_each(caller: Caller, server: AgentServer) -> None:
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(reply, caller, "waits first stay")
        server.await_gate("first")
        other = reply(caller, "hello stay")
        server.open_gate("first")
        first = waiting.result()
    assert first != other
    assert {reply(caller, "hello stay"), reply(caller, "hello you stay")} == {first}


def test_the_process_of_a_stopped_job_is_killed(caller: Caller, server: AgentServer) -> None:
    sent = caller.send("starts waits for_ever stay", conversation="stopped")
    server.await_gate("for_ever")
    (job,) = caller.get(sent["id"])["jobs"]
    assert caller.call("POST", f"/v1/work/{job['work_id']}/stop").status_code == 200
    assert caller.final(sent["id"])["jobs"][0]["status"] == "cancelled"
    pid = (server.gates / "for_ever.reached").read_text()
    eventually(lambda: has_ended(pid), what="its end")


def test_one_that_waits_for_long_ends(start_server: ServerMaker) -> None:
    """Also one that does not end with its standard input."""
    caller = Caller(start_server(agent=AGENT, program_idle_seconds=0.5))
    pid = reply(caller, "stubborn stay")
    eventually(lambda: has_ended(pid), what="its end")
    assert reply(caller, "hello stay") != pid


def test_those_that_wait_end_with_the_server(caller: Caller, server: AgentServer) -> None:
    pid = reply(caller, "stubborn stay")
    server.stop()
    try:
        eventually(lambda: has_ended(pid), PROMPT, "its end")
    finally:
        server.start()
