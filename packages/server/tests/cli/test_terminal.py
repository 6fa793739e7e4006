"""What a person sees in a terminal: asking for the key, a chat, tables that fit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminals import COLUMNS, terminal
from tests.e2e.server import KEY, AgentServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    made = AgentServer(tmp_path_factory.mktemp("server")).start()
    yield made
    made.stop()


def test_a_newcomer_logs_in_and_talks(server: AgentServer, tmp_path: Path) -> None:
    """One journey: each program that is started costs a second."""
    home = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "AGENTPOST_URL": "",
        "AGENTPOST_KEY": "",
    }
    with terminal(home, "login") as shown:
        shown.until("Server address [http://127.0.0.1:8080]: ")
        shown.type(f"{server.url}\n")
        shown.until("API key: ")
        shown.type(f"{KEY}\n")
        shown.until(f"✓ {server.url} as Owner <owner@localhost>")
        assert shown.end() == 0
        assert KEY not in shown.text

    long = json.dumps([["start", "Long", [["progress", "Begun"], ["gate", "never"]]]])
    with terminal(home, "chat", "-c", "talk") as shown:
        shown.until("› ")
        shown.type("hello\n")
        shown.until("You said: hello")
        shown.until("› ")
        shown.type(f"{long}\n")
        shown.until("• Begun")
        shown.type("\x03")
        shown.until("stopped waiting; the work continues: agentpost follow msg_")
        shown.until("› ")
        shown.type("\x1b[A\x1b[A\n")  # the line before the script
        shown.until("You said: hello")
        shown.until("› ")
        shown.type("\x04")
        shown.until("agentpost chat --conversation talk")
        assert shown.end() == 0

    with terminal(home, "send", long, "-c", "watched") as shown:
        shown.until("• Begun")
        shown.type("\x03")
        shown.until("the work continues: agentpost follow msg_")  # in one line, to be copied
        assert shown.end() == 130

    with terminal(home, "messages", "list") as shown:
        assert shown.end() == 0
        lines = [line for line in shown.text.splitlines() if line]
        assert lines[0].split() == ["ID", "STATUS", "SENT", "MESSAGE"]
        assert max(map(len, lines)) <= COLUMNS
        assert b"\x1b[32mcompleted" in shown.output
