"""The files of `docs/llm.md` work as they are, with a stub in place of the model;
and what a crash between a call of the model and its record costs."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentpost.settings import CONFIG_ENV
from tests.agents.llm.openai_stub import Calls, OpenAIStub, Reply, Request, Says, openai_stub
from tests.docs.snippets import blocks
from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.forking import MODEL_ALONE
from tests.house.tree import DOCS
from tests.waiting import PATIENCE

PAGE = DOCS / "llm.md"
CREDITS = (11 * 10 + 7 * 40) / 1_000_000
"""What one call of the stub's model costs, by the page's table."""


@pytest.fixture(scope="module")
def stub() -> Iterator[OpenAIStub]:
    with openai_stub() as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, stub: OpenAIStub) -> Iterator[AgentServer]:
    """With the page's files; only the address of the model is that of the stub."""
    home = tmp_path_factory.mktemp("llm")
    files = {block.file: block.text for block in blocks(PAGE) if block.file}
    (home / "prices.toml").write_text(files["prices.toml"])
    settings = files["agentpost.toml"].replace("http://127.0.0.1:11434/v1", stub.url)
    assert stub.url in settings
    (home / "agentpost.toml").write_text(settings)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv(CONFIG_ENV, raising=False)
        with AgentServer(home, agent="llm:openai:qwen3:8b", imported=MODEL_ALONE).start() as made:
            yield made


def test_the_page_s_settings_and_prices(server: AgentServer, stub: OpenAIStub) -> None:
    stub.tell(Says(["On ", "Fridays."]))
    caller = Caller(server)
    sent = caller.send("When do we bake the rye bread?", conversation="bakery")
    done = caller.final(sent["id"])
    assert done["jobs"][0]["text"] == "On Fridays."
    assert done["credits_used"] == pytest.approx(CREDITS)
    (request,) = stub.requests
    assert request["model"] == "qwen3:8b"
    assert "bakery in Oslo" in request["messages"][0]["content"]


def test_a_crash_between_a_call_and_its_record(server: AgentServer, stub: OpenAIStub) -> None:
    """The provider answers the second call, and the server dies before it is recorded: that call is
    made again, the first one is not, and each is charged once."""
    caller = Caller(server)
    answered: list[int] = []
    accepted, killed = threading.Event(), threading.Event()

    def die(_: int) -> None:
        if len(answered) == 2:
            accepted.wait()
            server.kill()
            killed.set()

    def answer(request: Request) -> Reply:
        results = sum(message["role"] == "tool" for message in request["messages"])
        answered.append(results)
        return Says(["None."], between=die) if results else Calls([("list_files", "{}")])

    stub.answer = answer
    sent = caller.send("Which files?", conversation="crash")
    accepted.set()
    assert killed.wait(PATIENCE), "the provider is asked a second time"
    server.start()
    done = caller.final(sent["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", "None.")
    assert answered == [0, 1, 1]
    assert done["credits_used"] == pytest.approx(2 * CREDITS)


def test_the_page_s_mcp_file_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentpost.agents.llm import servers

    (text,) = [block.text for block in blocks(PAGE) if block.kind == "json"]
    path = tmp_path / "mcp.json"
    path.write_text(text)
    monkeypatch.setenv("TICKETS_KEY", "secret")
    assert len(servers.of_file(str(path))) == len(json.loads(text)["mcpServers"]) == 2
