"""Steps whose worker process ends before they do. They import little: a new process does so each
time."""

import os
import signal
from pathlib import Path

from agentpost.agents import File


def killed_until(notes: str, times: int) -> str:
    """A step whose process is killed the first times: by itself, with what a killer would send."""
    count = len(list(Path(notes).glob("run*")))
    (Path(notes) / f"run{count}").touch()
    if count < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"run {count}"


def killed_always(notes: str) -> str:
    return killed_until(notes, 1_000)


def built(notes: str, times: int) -> str:
    """The same for the contents of a file."""
    return killed_until(notes, times)


def read_killed(file: File) -> str:
    """In the place of what reads a file's text."""
    return killed_until(str(file.local.parent), 2)


def exits(_: str) -> None:
    os._exit(3)


def closes(_: str) -> None:
    os.closerange(3, 256)
