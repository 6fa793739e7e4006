"""What the first start prints fits the agent that is served."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from agentpost.cli.welcome import welcome
from agentpost.server import start
from agentpost.settings import load_settings


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("named", "examples", "text"),
    [
        ("with_examples", 'EXAMPLES = ["Say it\'s done", "More"]', "Say it's done"),
        ("without_examples", "", "Hello"),
    ],
)
async def test_the_first_message_is_one_of_the_agents_own(
    named: str, examples: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{named}.py").write_text(f"async def agent(turn): ...\n{examples}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = load_settings(agent=f"{named}:agent", data_dir=str(tmp_path / "data"))
    server = await start(settings)
    try:
        printed = welcome(server, settings)
    finally:
        assert await server.stop()
    commands = printed.replace("\\\n", "").splitlines()
    curl = next(shlex.split(line) for line in commands if line.startswith("  curl "))
    assert json.loads(curl[curl.index("-d") + 1]) == {"message": text}
    send = shlex.split(commands[-1])
    assert send[1:] == ["send", text, "--save", "."]
    assert "sales.csv" not in printed
