"""Requests made from the description: whatever it allows or forbids, the server keeps to it.

For every operation: its examples and the borders of each parameter, right and wrong ones. No answer
is a fault of the server; statuses, bodies and content types are the described ones; wrong data and
wrong methods are refused, right data is taken; the key is asked for. `make fuzz` adds values at
random and walks along the links (check_description.py).
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, ROOT, AgentServer

SECONDS_MAX = 500
CONFIG = Path(__file__).with_name("schemathesis.toml")


def test_the_server_keeps_to_its_description(start_server: ServerMaker, tmp_path: Path) -> None:
    try_requests(start_server(), tmp_path, "Examples", "Coverage")


def try_requests(
    server: AgentServer, folder: Path, *phases: str, options: tuple[str, ...] = ()
) -> str:
    """What the program says of these phases; each tried something, and it found nothing wrong."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("st"),
            f"--config-file={CONFIG}",
            "run",
            f"{server.url}/openapi.json",
            f"--header=Authorization: Bearer {KEY}",
            f"--phases={','.join(phases).lower()}",
            *options,
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
    for phase in phases:
        assert f"✅ {phase}" in done.stdout, f"{phase} tested nothing\n{done.stdout}"
    return done.stdout
