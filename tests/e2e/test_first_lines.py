"""What the first start prints fits the agent that is served."""

import json
import re
import shlex
import shutil
import stat
from pathlib import Path

import httpx2
import pytest

from agentpost.serving.welcome import FIRST_START
from tests.cli.terminals import terminal
from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.servers import empty_sqlite


@pytest.mark.parametrize(
    ("examples", "text"), [('["Say it\'s done", "More"]', "Say it's done"), ("[]", "Hello")]
)
def test_a_log_gets_no_secret_of_the_first_start(tmp_path: Path, examples: str, text: str) -> None:
    """They are in a file, which only the server's user may read, with a first message that is one
    of the agent's own examples; a second start says nothing."""
    server = AgentServer(tmp_path / "first", bootstrap_api_key="", agent="shop:agent")
    (server.home / "shop.py").write_text(f"async def agent(turn): ...\nEXAMPLES = {examples}\n")
    with server.start():
        kept = server.home / "data" / FIRST_START
        steps, log = kept.read_text(), server.log_file.read_text()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert f"  {kept}\n" in log
        assert "svc_key_" not in log
        assert "/login/" not in log
        key = re.findall(r"svc_key_[\w-]+", steps)[0]
        assert Caller(server, key).call("GET", "/v1/me").status_code == 200
        (link,) = re.findall(rf"{server.url}/login/\S+", steps)
        assert httpx2.get(link).status_code == 200
        kept.unlink()
        server.stop()
        server.start()
        assert not kept.exists()
    commands = steps.replace("\\\n", "").splitlines()
    curl = next(shlex.split(line) for line in commands if line.startswith("  curl "))
    body = json.loads(curl[curl.index("-d") + 1])
    assert body == {"message": text, "conversation": "customer-4711"}
    send = shlex.split(commands[-1])
    assert send[1:] == ["send", text, "--conversation", "customer-4711", "--save", "."]


def test_a_terminal_gets_all_of_it(tmp_path: Path) -> None:
    """To paste: nothing is written then."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    shutil.copyfile(empty_sqlite(), data / "agentpost.db")
    environment = {"AGENTPOST_DATA_DIR": str(data), "AGENTPOST_BOOTSTRAP_API_KEY": ""}
    with terminal(
        environment, "serve", "--port", "0", "--agent", "tests.e2e.agents:agent"
    ) as shown:
        shown.until("Its API key is shown only now:")
        assert "svc_key_" in shown.until("curl -s http://127.0.0.1:")
        shown.until("/v1/messages")
        shown.type("\x03")
        assert shown.end() in (0, 130)
    assert not (data / FIRST_START).exists()
