"""One account that takes all it can get does not keep another from its own (real processes)."""

import base64
import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

Callers = Callable[..., Caller]
SETTINGS = {"agent": "tests.e2e.greedy:agent", "pool_workers": 2}


@pytest.fixture(scope="module")
def strict_server(start_server: ServerMaker) -> Iterator[AgentServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "SHOP_KEY", "WEATHER_TOKEN"):
            patch.setenv(name, f"the value of {name}")
        yield start_server(
            agent="tests.e2e.greedy:agent",
            worker_env="TEST_*,SHOP_*",
            worker_memory_bytes=512 * 1024**2,
            step_cpu_seconds=1,
            file_read_seconds=0.001,
        )


def csv(text: str) -> Json:
    """A small file as it is sent."""
    content = base64.b64encode(text.encode()).decode()
    return {"name": "data.csv", "base64": content}


def result(caller: Caller, message: Json) -> str:
    """What the message's job returned."""
    done = caller.final(message["id"])
    assert done["status"] == "completed", done
    text: str = caller.work(done["jobs"][0]["work_id"])["text"]
    return text


def test_blocking_steps_of_one_account_leave_a_worker_to_another(
    server: AgentServer, callers: Callers
) -> None:
    greedy, other = callers(server), callers(server, server.new_key("modest"))
    holding = [greedy.send(f"hold a{n}", conversation=f"c{n}") for n in range(4)]
    building = greedy.send("build a4", conversation="c4")
    server.await_gate("a0")
    # The other account: a step, a file that is built, and a question about a file.
    server.open_gate("b0")
    assert result(other, other.send("hold b0")) == "b0"
    assert result(other, other.send("build b0", conversation="build")) == "built.txt"
    answer = other.send("read", files=[csv("a,b\n1,2\n")], conversation="read")
    assert answer["reply"].startswith("a,b\n1,2")
    shown = [greedy.get(message["id"])["status"] for message in [*holding, building]]
    assert shown == ["processing"] * 5
    assert not any(server.has_reached(f"a{n}") for n in range(1, 5))
    for n in range(5):
        server.open_gate(f"a{n}")
    assert [result(greedy, message) for message in holding] == ["a0", "a1", "a2", "a3"]
    assert result(greedy, building) == "built.txt"


def test_a_timeout_counts_no_waiting_and_ends_steps_and_builds(
    server: AgentServer, callers: Callers
) -> None:
    caller = callers(server)
    first = caller.send("hold busy", conversation="t0")
    server.await_gate("busy")
    step = caller.send("hold never 0.2", conversation="t1")
    build = caller.send("build never 0.2", conversation="t2")
    assert caller.get(step["id"], wait=1)["status"] == "processing", "it only waits"
    server.open_gate("busy")
    assert result(caller, first) == "busy"
    reported = "TimeoutError: tests.e2e.greedy:hold took longer than 0.2 s"
    assert result(caller, step) == reported
    assert result(caller, build) == reported


def test_a_step_has_a_limit_of_cpu_time(strict_server: AgentServer, callers: Callers) -> None:
    caller = callers(strict_server)
    reported = "it used more than 1 s of CPU time (the setting step_cpu_seconds)"
    assert result(caller, caller.send("spin")).endswith(reported)


def test_a_step_has_a_limit_of_memory(strict_server: AgentServer, callers: Callers) -> None:
    caller = callers(strict_server)
    reported = "(the limit is 512 MiB); the setting worker_memory_bytes raises it"
    assert result(caller, caller.send("hoard")).endswith(reported)


def test_a_step_runs_where_the_leak_of_another_account_is_not(
    strict_server: AgentServer, callers: Callers
) -> None:
    leaking, other = callers(strict_server), callers(strict_server, strict_server.new_key("tidy"))

    def run(caller: Caller, words: str) -> str:
        return result(caller, caller.send(words, conversation=words))

    leaked = run(leaking, "leak 150")  # less than half of what its process may have
    assert run(leaking, "leak 1") == leaked
    filled = run(other, "fill 350")
    assert filled != leaked
    assert filled.isdecimal(), "it ran, in a fresh process"
    leaked = run(leaking, "leak 300")
    assert run(other, "fill 1") != leaked, "what a leak has filled is not used again"


def test_reading_a_file_has_a_limit_of_time(strict_server: AgentServer, callers: Callers) -> None:
    answer = callers(strict_server).send("read", files=[csv("a,b\n1,2\n")])
    assert answer["status"] == "completed"
    why = "data.csv could not be read: reading it takes longer than 0.001 seconds"
    assert answer["reply"] == f"Unreadable: {why}"


def test_a_step_sees_the_listed_environment_only(
    strict_server: AgentServer, callers: Callers
) -> None:
    caller = callers(strict_server)
    seen = json.loads(result(caller, caller.send("environment")))
    assert {"PATH", "TMPDIR", "SHOP_KEY", "TEST_GATES"} <= seen.keys()
    assert not {n for n in seen if n.startswith(("AWS_", "PG", "AGENTPOST_", "WEATHER_"))}
    assert not [value for value in seen.values() if value.startswith("the value of AWS")]
