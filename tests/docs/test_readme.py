"""The programs of `README.md` run as they stand, against a server with the built-in agent."""

import os
import subprocess
import sys
from pathlib import Path

from agentpost.cli.welcome import SAMPLE
from tests.docs.snippets import programs, write_programs
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS, ROOT

README = ROOT / "README.md"


def run(program: str, server: AgentServer, folder: Path) -> str:
    """What it prints; it runs where the reader's files are."""
    environment = {**os.environ, "AGENTPOST_URL": server.url, "AGENTPOST_KEY": KEY}
    command = [sys.executable, program]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_integrations(tmp_path: Path) -> None:
    write_programs(README, tmp_path)
    (tmp_path / "sales.csv").write_text(SAMPLE)
    server = AgentServer(tmp_path / "server", agent="offline").start()
    try:
        first = run("integration.py", server, tmp_path)
        again = run("integration.py", server, tmp_path)
        chart = run("integration_sdk.py", server, tmp_path)
    finally:
        server.stop()
    assert first == again == "completed ['sales-report.docx', 'sales-report.pdf']\n"
    assert (tmp_path / "sales-report.pdf").read_bytes().startswith(b"%PDF")
    assert chart == "sales-chart.png\n"


def test_the_first_agent_is_the_one_that_is_explained() -> None:
    """`docs/agents.md` runs it in a test of its own."""
    assert programs(README)["hello.py"] == programs(DOCS / "agents.md")["hello.py"]
