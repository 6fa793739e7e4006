"""The parts of `agentpost dev` that load an agent's code again, without a server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from agentpost.serving import development
from tests.waiting import PATIENCE


async def test_a_folder_that_is_gone_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watched: list[set[Path]] = []
    served = asyncio.Event()

    async def awatch(*folders: Path, **how: Any) -> AsyncIterator[set[tuple[int, str]]]:
        watched.append(set(folders))
        if len(watched) == 1:  # it went after the look at which folders are there
            raise FileNotFoundError("No path was found.")
        yield {(1, str(tmp_path / "agent.py"))}
        await asyncio.Event().wait()

    async def reload(load: Any) -> None:
        served.set()

    monkeypatch.setattr(development, "awatch", awatch)
    monkeypatch.setattr(development, "_WATCH_AGAIN_SECONDS", 0)
    code = SimpleNamespace(
        folders={tmp_path, tmp_path / "gone"},
        concerns=lambda path: True,
        changed_files=set,
        load=None,
    )
    server = SimpleNamespace(when_diverged=lambda tell: None, reload=reload)
    attending = asyncio.create_task(
        development._Developing(cast("Any", code)).attend(cast("Any", server))
    )
    async with asyncio.timeout(PATIENCE):
        await served.wait()
    attending.cancel()
    assert watched == [{tmp_path}, {tmp_path}]
    assert "cannot watch for changes" in capsys.readouterr().out


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
