"""Logging raises nothing where it happens: the log may be on a disk that is full."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentpost.observability.logging import json_line

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


def test_a_line_of_json_is_what_the_standard_library_makes_of_it() -> None:
    fields: dict[str, Any] = {"a": 'é "\n', "b": 1, "c": True, "d": None, "e": [1.5], 'x"': {}}
    event = {**fields, "event": "tried", "level": "info", "timestamp": 1_700_000_000_000_001}
    first = {"timestamp": "2023-11-14T22:13:20.000001Z", "level": "info", "event": "tried"}
    assert json_line(event) == json.dumps({**first, **fields})
    assert json.loads(json_line({**event, "f": object}))["f"] == "<class 'object'>"
