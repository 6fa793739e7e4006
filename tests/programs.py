"""Programs that a test runs to their end."""

import subprocess
from pathlib import Path
from typing import Any

SECONDS_MAX = 300


def run(
    *command: str | Path, seconds: float = SECONDS_MAX, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """A program that has ended, well or not, and what it printed; ``options`` as `subprocess.run`
    has them."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, check=False, **options
    )


def printed(*command: str | Path, **options: Any) -> str:
    """What a program prints, which has to succeed."""
    done = run(*command, **options)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout
