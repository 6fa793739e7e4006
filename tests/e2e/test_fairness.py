"""One account that takes all it can get does not keep another from its own (real processes). Each
limit by itself: `tests.processes.test_pool_limits`."""

import base64
import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

Callers = Callable[..., Caller]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> Iterator[AgentServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "SHOP_KEY", "WEATHER_TOKEN"):
            patch.setenv(name, f"the value of {name}")
        yield start_server(
            agent="tests.e2e.greedy:agent",
            pool_workers=2,
            worker_env="TEST_*,SHOP_*",
            worker_memory_bytes=512 * 1024**2,
            step_cpu_seconds=1,
        )


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
    csv = {"name": "data.csv", "base64": base64.b64encode(b"a,b\n1,2\n").decode()}
    assert other.send("read", files=[csv])["reply"].startswith("a,b\n1,2")
    shown = [greedy.get(message["id"])["status"] for message in [*holding, building]]
    assert shown == ["processing"] * 5
    assert not any(server.has_reached(f"a{n}") for n in range(1, 5))
    for n in range(5):
        server.open_gate(f"a{n}")
    assert [result(greedy, message) for message in holding] == ["a0", "a1", "a2", "a3"]
    assert result(greedy, building) == "built.txt"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("spin", "it used more than 1 s of CPU time (the setting step_cpu_seconds)"),
        ("hoard", "(the limit is 512 MiB); the setting worker_memory_bytes raises it"),
        ("hold never 0.2", "TimeoutError: tests.e2e.greedy:hold took longer than 0.2 s"),
        ("build never 0.2", "TimeoutError: tests.e2e.greedy:hold took longer than 0.2 s"),
    ],
)
def test_a_step_ends_at_its_limits(caller: Caller, words: str, reported: str) -> None:
    assert result(caller, caller.send(words, conversation=words)).endswith(reported)


def test_a_step_sees_the_listed_environment_only(caller: Caller) -> None:
    seen = json.loads(result(caller, caller.send("environment")))
    assert {"PATH", "TMPDIR", "SHOP_KEY", "TEST_GATES"} <= seen.keys()
    assert not {n for n in seen if n.startswith(("AWS_", "PG", "AGENTPOST_", "WEATHER_"))}
    assert not [value for value in seen.values() if value.startswith("the value of AWS")]
