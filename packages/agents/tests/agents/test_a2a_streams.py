"""An agent behind `a2a:` whose streams bring nothing: its tasks are looked at all the same."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from unittest.mock import AsyncMock, Mock

import pytest

from agentpost.agents.adapters import a2a
from agentpost.agents.adapters.conversing import RunInput
from agentpost.agents.adapters.surroundings import Exchange
from agentpost.bootstrap import surroundings, way_out
from agentpost.settings import load_settings
from tests.agents.llm.test_calls import Direct

URL = "https://agent.example.com"
CARD = {
    "capabilities": {"streaming": True},
    "supportedInterfaces": [{"url": f"{URL}/rpc", "protocolBinding": "JSONRPC"}],
}


class Answer:
    """An answer of the other agent; ``stays_open`` when its last line is followed by silence."""

    status = 200

    def __init__(self, body: object, *, stays_open: bool = False) -> None:
        self._line, self._stays_open = json.dumps(body).encode(), stays_open

    async def lines(self, bytes_max: int) -> AsyncIterator[bytes]:
        yield self._line
        if self._stays_open:
            await asyncio.Event().wait()


class Silent:
    """The way to an agent whose task ends, but whose stream of it never says so."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator[Exchange]:
        if body is None:
            yield Answer(CARD)
            return
        name = json.loads(body)["method"]
        self.calls.append(name)
        has_ended = self.calls.count("SubscribeToTask") > 0
        state = "TASK_STATE_COMPLETED" if has_ended else "TASK_STATE_WORKING"
        status = {"state": state, "message": {"parts": [{"text": "It is done."}]}}
        task = {"id": "t1", "contextId": "c1", "status": status if has_ended else {"state": state}}
        is_look = name == "GetTask"
        yield Answer({"result": task if is_look else {"task": task}}, stays_open=not is_look)


async def test_a_task_is_looked_at_when_its_stream_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(a2a, "SILENCE_SECONDS", 0.01)
    monkeypatch.setattr(a2a, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(a2a, "step_key", lambda: "key")
    monkeypatch.setattr(a2a, "current", lambda: Mock(progress=AsyncMock()))
    settings = load_settings()
    other = Silent()
    agent = a2a.agent_of(URL)
    agent.attach(replace(surroundings(settings, way_out(settings)), way_out=other))
    run_input = RunInput("work", None, ())
    outcome = await agent.run(run_input, Direct())
    assert outcome.text == "It is done."
    assert other.calls == ["SendStreamingMessage", "GetTask", "SubscribeToTask", "GetTask"]
