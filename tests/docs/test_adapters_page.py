"""The programs of `docs/adapters.md` do what is said of them: one server hands each message to the
agent that its conversation names, a service runs in a thread.

`support_graph.py` and `booking_agent.py` run in test_agents_elsewhere.py, whose
server has their frameworks loaded: that takes seconds.
"""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from pathlib import Path

import pytest

from agentpost.webhooks.signing import new_secret
from agentpost_client import Client, Message
from tests.docs.snippets import write_programs
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS

PAGE = DOCS / "adapters.md"
DISPATCHER = """
import os
import sys

from agentpost.agents import registry
from agentpost.bootstrap import surroundings, way_out
from agentpost.settings import load_settings

SPECS = {
    "invoices": "invoices:agent",
    "orders_that_ask": "orders_that_ask:agent",
    "counter": f"cmd:{sys.executable} counter.py",
    "service": os.environ["TEST_SERVICE"],
}
AGENTS = {}


async def agent(turn):
    name = turn.conversation
    if name not in AGENTS or AGENTS[name].attach is None:
        AGENTS[name] = registry.resolve(SPECS[name])  # the last one of a kind runs its jobs
        if AGENTS[name].attach is not None:
            settings = load_settings()
            AGENTS[name].attach(surroundings(settings, way_out(settings)))
    await AGENTS[name].run(turn)
"""
SECONDS_MAX = 90.0


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = tmp_path_factory.mktemp("adapters")
    write_programs(PAGE, home)
    (home / "dispatcher.py").write_text(DISPATCHER)
    secret = new_secret()
    with pytest.MonkeyPatch.context() as environment, serving(home) as service:
        environment.setenv("AGENT_SECRET", secret)
        environment.setenv("TEST_SERVICE", f"http://127.0.0.1:{service.server_address[1]}/")
        settings = {"agent_secret": secret, "egress_allow": "127.0.0.0/8"}
        server = AgentServer(home, agent="dispatcher:agent", **settings)
        with server.start(), Client(server.url, KEY) as client:
            yield client


@contextmanager
def serving(home: Path) -> Iterator[HTTPServer]:
    spec = importlib.util.spec_from_file_location("word_service", home / "word_service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with HTTPServer(("127.0.0.1", 0), module.Agent) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield service
        service.shutdown()  # else the thread asks the closed socket again and again


def send_and_wait(client: Client, text: str, conversation: str) -> Message:
    return client.wait(client.send(text, conversation=conversation).id, timeout=SECONDS_MAX)


@pytest.mark.parametrize(
    ("name", "file", "contents"),
    [
        ("invoices", "invoice.txt", "Invoice for a\n"),
        ("counter", "count.txt", "3\n"),
        ("service", "count.txt", "3\n"),
    ],
)
def test_it_works(client: Client, tmp_path: Path, name: str, file: str, contents: str) -> None:
    done = send_and_wait(client, "one two three", name)
    assert done.status == "completed"
    assert [each.name for each in done.files] == [file]
    assert client.download(done.files[0], tmp_path).read_text() == contents


def test_a_deferred_tool_asks(client: Client) -> None:
    asked = send_and_wait(client, "a lamp", "orders_that_ask")
    assert (asked.status, asked.question) == ("needs_input", "Which size?")
    assert send_and_wait(client, "large", "orders_that_ask").status == "completed"
