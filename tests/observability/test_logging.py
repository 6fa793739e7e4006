"""Logging raises nothing where it happens: the log may be on a disk that is full."""

import subprocess
import sys
from pathlib import Path

LOG = """
import structlog
from agentpost.observability import logging
logging.configure("json", "info")
try:
    raise ValueError("what is logged")
except ValueError:
    structlog.get_logger().exception("lost")
structlog.get_logger().error("lost as well")
print("went on")
"""


def test_a_full_disk_costs_lines_only() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", LOG], stdout=subprocess.PIPE, stderr=full, text=True, check=False
        )
    assert done.stdout == "went on\n"
