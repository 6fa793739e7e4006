"""The parts of `agentpost dev` that load an agent's code again, without a server."""

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from agentpost.agents.registry import Agent, UnknownAgent
from agentpost.server import Server
from agentpost.serving import development
from agentpost.serving.development import AgentCode
from agentpost.turns import actions as turns
from tests.waiting import PATIENCE


class Recorded:
    """Stands for the parts of a server, and records what is done with them in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.held: list[str] = []
        self._both = asyncio.Barrier(2)
        self._running = {"turn": ["msg_1"], "job": ["exe_1"]}

        async def run(work: Any) -> None:
            await work

        async def reclaim(ctx: Any, turn_id: str, node: str) -> None:
            self.done.append(f"reclaim {turn_id}")

        monkeypatch.setattr(turns, "reclaim", reclaim)
        self.turns = SimpleNamespace(agent="old", runs=self._runs("turn"))
        self.server = Server.__new__(Server)  # without all the parts that loading does not touch
        vars(self.server).update(
            ctx=SimpleNamespace(node="node_1"),
            _turns=self.turns,
            _jobs=SimpleNamespace(
                runs=self._runs("job"),
                reclaim=lambda job_id, node: self.done.append(f"reclaim {job_id}"),
            ),
            _loop=SimpleNamespace(run=run),
            _pool=SimpleNamespace(renew=lambda imports: self._did("renew"), hold=self._hold),
        )

    async def _did(self, what: str) -> None:
        self.done.append(what)

    async def _hold(self) -> None:
        await self._did("hold")

    def _runs(self, kind: str) -> Any:
        return SimpleNamespace(
            hold=lambda: self.held.append(kind),
            release=lambda: self.held.remove(kind),
            interrupt=self._of(kind),
        )

    def _of(self, kind: str) -> Any:
        async def interrupt(seconds: float) -> list[str]:
            async with asyncio.timeout(PATIENCE):
                await self._both.wait()  # turns and jobs at once, or never
            found, self._running[kind] = self._running[kind], []
            self.done += [f"interrupt {each}" for each in sorted(found)]
            return found

        return interrupt

    def load(self) -> Agent:
        """Loads an agent, while nothing begins."""
        self.done.append("load")
        assert self.held == ["turn", "job"]
        return cast("Agent", SimpleNamespace(run="new", worker_imports=(), warm_up=None))

    def fail(self) -> Agent:
        """Loads broken code."""
        self.done.append("load")
        raise UnknownAgent("broken")


async def test_what_runs_is_interrupted_before_its_code_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = Recorded(monkeypatch)
    await at.server.reload(at.load)
    assert sorted(at.done[:2]) == ["interrupt exe_1", "interrupt msg_1"]
    assert at.done[2:4] == ["load", "renew"]
    assert sorted(at.done[4:]) == ["reclaim exe_1", "reclaim msg_1"]
    assert (at.turns.agent, at.held) == ("new", [])


async def test_what_was_interrupted_for_broken_code_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = Recorded(monkeypatch)
    with pytest.raises(UnknownAgent):
        await at.server.reload(at.fail)
    assert at.done[2:4] == ["load", "hold"]
    assert sorted(at.done[4:]) == ["reclaim exe_1", "reclaim msg_1"]
    assert (at.turns.agent, at.held) == ("old", [])


async def test_a_folder_that_is_gone_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "package_that_goes"
    folder.mkdir()
    agent = folder / "__init__.py"
    agent.write_text("async def agent(turn):\n    pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(development, "_LOOK_SECONDS", 0)
    code = AgentCode("package_that_goes:agent")
    code.load()
    served: asyncio.Queue[str] = asyncio.Queue()

    async def reload(load: Callable[[], Agent]) -> None:
        try:
            await asyncio.to_thread(load)
        finally:
            served.put_nowait("there" if agent.exists() else "gone")

    server = SimpleNamespace(when_diverged=lambda tell: None, reload=reload)
    attending = asyncio.create_task(development._Developing(code).attend(cast("Any", server)))
    shutil.rmtree(folder)
    async with asyncio.timeout(PATIENCE):
        assert await served.get() == "gone"
        folder.mkdir()
        agent.write_text("async def agent(turn):\n    ...\n")
        assert await served.get() == "there"
    attending.cancel()


@pytest.mark.parametrize("first", [True, False])
def test_a_key_that_was_given_is_neither_shown_nor_written(tmp_path: Path, first: bool) -> None:
    key = SimpleNamespace(secret="sk_secret_of_the_author")
    made = SimpleNamespace(key=key, login=None) if first else None
    settings = SimpleNamespace(
        public_url="http://127.0.0.1:1", data_path=tmp_path, bootstrap_api_key=SecretStr(key.secret)
    )
    greeting = development._Developing(cast("Any", SimpleNamespace(spec="agent:agent"))).greeting(
        cast("Any", SimpleNamespace(first=made)), cast("Any", settings)
    )
    assert key.secret not in greeting
    assert "AGENTPOST_KEY=$AGENTPOST_BOOTSTRAP_API_KEY" in greeting
    assert '"Authorization: Bearer $AGENTPOST_BOOTSTRAP_API_KEY"' in greeting
    assert list(tmp_path.iterdir()) == []
