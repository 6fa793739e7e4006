"""The end of `agentpost serve` when a thread of the event loop's pool hangs in a call."""

import sys
from pathlib import Path

from tests import programs

HANGING = """
import asyncio, sys, time
from agentpost.serving import process

async def served(settings, listening, connections_max, leaving, companion, given):
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
    await asyncio.sleep(0)
    leaving()

process._serve = served
process.run({"port": 0, "data_dir": sys.argv[1]})
"""


def test_the_process_does_not_wait_for_it(tmp_path: Path) -> None:
    ended = programs.run(sys.executable, "-c", HANGING, tmp_path, seconds=120)
    assert ended.returncode == 1, "not everything could be brought to an end"
    assert "threads_not_ended" in ended.stderr
