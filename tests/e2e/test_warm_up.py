"""An agent loads what its turns need after the server is ready, before the first message."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agentpost.server import Server, start
from agentpost.settings import load_settings
from tests.waiting import eventually_async

AGENT = """
import asyncio

seen = []
go = False

async def load():
    seen.append("begun")
    while not go:
        await asyncio.sleep(0.01)
    seen.append("ended")
    raise RuntimeError("what it could not load, turns load themselves")

async def agent(turn): ...

WARM_UP = load
"""


@pytest.fixture
async def warming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> tuple[Server, Any]:
    """A server that is ready, and the module of its agent, which has begun to warm up."""
    name = request.node.name
    (tmp_path / f"{name}.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    server = await start(load_settings(agent=f"{name}:agent", data_dir=str(tmp_path / "data")))
    agent: Any = sys.modules[name]
    await eventually_async(lambda: agent.seen == ["begun"])
    return server, agent


async def test_a_server_is_ready_before_its_agent_has_warmed_up(
    warming: tuple[Server, Any],
) -> None:
    server, agent = warming
    agent.go = True
    await eventually_async(lambda: agent.seen == ["begun", "ended"])
    assert await server.stop()


async def test_a_server_stops_while_its_agent_warms_up(warming: tuple[Server, Any]) -> None:
    server, agent = warming
    assert await server.stop()
    assert agent.seen == ["begun"]
