"""An agent loads what its turns need after the server is ready, before the first message."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agentpost.server import start
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


@pytest.mark.anyio
async def test_a_server_is_ready_before_its_agent_has_warmed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent_that_warms_up.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = load_settings(agent="agent_that_warms_up:agent", data_dir=str(tmp_path / "data"))
    server = await start(settings)
    agent: Any = sys.modules["agent_that_warms_up"]
    try:
        await eventually_async(lambda: agent.seen == ["begun"])
        agent.go = True
        await eventually_async(lambda: agent.seen == ["begun", "ended"])
    finally:
        assert await server.stop()


@pytest.mark.anyio
async def test_a_server_stops_while_its_agent_warms_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent_still_warming_up.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = load_settings(agent="agent_still_warming_up:agent", data_dir=str(tmp_path / "data"))
    server = await start(settings)
    agent: Any = sys.modules["agent_still_warming_up"]
    await eventually_async(lambda: agent.seen == ["begun"])
    assert await server.stop()
    assert agent.seen == ["begun"]
