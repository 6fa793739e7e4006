"""An adapter of a framework, with its agent in an agent process. All of them, and all cases:
TEST_AGENT_PROCESSES=2 with test_agents_elsewhere.py.
"""

import os
import signal

import pytest

from tests.conformance.test_agents_elsewhere import (
    count,
    new_database,
    paid_twice,
    test_a_stop_ends_it,
    test_it_asks_and_uses_the_answer,
    test_it_replies_and_remembers,
    test_it_starts_work_that_writes_a_file,
    test_text_is_shown_while_it_is_written,
    words_of,
)
from tests.e2e.caller import Caller
from tests.e2e.fixtures import (
    ServerMaker,
    caller,
    pytest_runtest_makereport,
    start_server,
)
from tests.e2e.server import AgentServer
from tests.e2e.test_logs import lines
from tests.waiting import eventually

__all__ = [
    "caller",
    "new_database",
    "pytest_runtest_makereport",
    "start_server",
    "test_a_stop_ends_it",
    "test_it_asks_and_uses_the_answer",
    "test_it_replies_and_remembers",
    "test_it_starts_work_that_writes_a_file",
    "test_text_is_shown_while_it_is_written",
]
KIND = "pydantic-ai"


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(
        agent="tests.conformance.elsewhere.with_pydantic_ai:agent",
        agent_processes=1,
        running_jobs_max=100,
    )


@pytest.fixture
def kind() -> str:
    return KIND


def test_what_was_recorded_is_not_done_again(caller: Caller, server: AgentServer) -> None:
    """Its process is killed, while the server runs."""
    sent = caller.send("order it", conversation=f"{KIND}/crash")["id"]
    server.await_gate(f"{KIND}.pay")
    os.kill(lines(server, "agent_process_started")[-1]["pid"], signal.SIGKILL)
    eventually(lambda: paid_twice(server, KIND), what="the step that was interrupted")
    server.open_gate(f"{KIND}.pay")
    assert words_of(caller.final(sent)) == "You said: order it. Found: reserved, paid."
    keys = {line.split()[1] for line in server.trace() if line.startswith("tool.pay")}
    assert len(keys) == 1, "a step that runs again keeps its key"
    assert [count(server, f"{KIND}.model.order.{n}") for n in range(3)] == [1, 1, 1]
    assert count(server, "tool.reserve") == 1
