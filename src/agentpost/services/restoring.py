"""The mark of a restore that has not ended, in a data folder (`services.restore`)."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "restoring"
SCRATCH: Final = "backing-up"
"""In a data folder: what commands for backups keep there while they run."""
MARK: Final = "restore.json"
MOVING_OUT: Final = "moving out"
MOVING_IN: Final = "moving in"


def check(data: Path, database: str) -> None:
    """Raises `OSError` while ``data`` has a restore that was cut off and no whole database."""
    mark = data / FOLDER / MARK
    with suppress(FileNotFoundError, ValueError):
        state = json.loads(mark.read_text("utf-8"))
        if state.get("phase") == "fetching" and (data / database).exists():
            return  # nothing that was there has been changed yet
        raise OSError(
            f"the restore of backup {state.get('backup')} into {data} was cut off. Run `agentpost"
            f" restore` again; or remove {mark.parent}, and there is only what was there before"
        )
