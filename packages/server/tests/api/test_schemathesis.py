"""Requests made from the description: whatever it allows or forbids, the server keeps to it.

For every operation: its examples, the borders of each parameter, values at random, right and wrong
ones, and walks along the links. No answer is a fault of the server; statuses, bodies and content
types are the described ones; wrong data and wrong methods are refused, right data is taken; a
deleted thing is gone; the key is asked for.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, ROOT, AgentServer

SECONDS_MAX = 500
LINKS_MIN = 10
WORKS = 30
CONFIG = Path(__file__).with_name("schemathesis.toml")


def test_the_server_keeps_to_its_description(start_server: ServerMaker, tmp_path: Path) -> None:
    server = start_server()
    phases = ("Examples", "Coverage", "Fuzzing")
    reported = _run(server, tmp_path, *map(str.lower, phases))
    for phase in phases:
        assert f"✅ {phase}" in reported, f"{phase} tested nothing\n{reported}"


def test_its_links_lead_on(start_server: ServerMaker, tmp_path: Path) -> None:
    """On a server of its own: where ten webhook endpoints are left, no walk begins with one."""
    server = start_server()
    _give_it_works(server)
    reported = _run(server, tmp_path, "stateful")
    links = re.search(r"API Links: +([0-9]+) covered", reported)
    assert links is not None
    assert int(links[1]) >= LINKS_MIN, f"few links lead on\n{reported}"


def _run(server: AgentServer, folder: Path, *phases: str) -> str:
    """What the program says of these phases; it found nothing wrong."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("st"),
            f"--config-file={CONFIG}",
            "run",
            f"{server.url}/openapi.json",
            f"--header=Authorization: Bearer {KEY}",
            f"--phases={','.join(phases)}",
            "--no-color",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def _give_it_works(server: AgentServer) -> None:
    """Works with a file, more than the walks delete: a message at random starts none."""
    script = [["start", "Report", [["write", "report.txt", "All is well."], ["return", "Done"]]]]
    caller = Caller(server)
    for _ in range(WORKS):
        sent = caller.call("POST", "/v1/messages", json={"message": json.dumps(script)})
        assert sent.status_code == 201, sent.text
    caller.close()
