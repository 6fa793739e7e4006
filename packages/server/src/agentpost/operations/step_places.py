"""Whether steps can run as the setting ``worker_command_prefix`` says (design: Steps apart)."""

import asyncio
import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from agentpost.clock import SystemClock, new_id
from agentpost.domain import ids
from agentpost.processes import probe
from agentpost.processes.prefix import CommandPrefix, make_parent
from agentpost.settings import CONFIG_ENV, CONFIG_FILE, Settings
from agentpost.storage.scratch import Scratch

PLACE: Final = "steps"
"""What the doctor calls it."""


@contextmanager
def launch(settings: Settings) -> Iterator[Sequence[str]]:
    """The command that starts a program which reads a stranger's file for a preview."""
    prefix = CommandPrefix.parse(settings.worker_command_prefix)
    if prefix is None:
        yield ()
        return
    folder = make_parent()
    try:
        yield prefix.command_for(folder, 0)
    finally:
        folder.rmdir()


async def trouble(settings: Settings) -> str | None:
    """What is wrong with the command, found by starting a worker with it; None when all is well, or
    nothing is set. Raises `ValueError` like `CommandPrefix.parse`."""
    prefix = CommandPrefix.parse(settings.worker_command_prefix)
    if prefix is None:
        return None
    name = new_id(ids.NODE, SystemClock().now())
    scratch = await asyncio.to_thread(Scratch, settings.data_path / "scratch", name)
    try:
        return await probe.trouble(prefix, _private(settings), scratch.folder)
    finally:
        await asyncio.to_thread(scratch.close)


def _private(settings: Settings) -> list[Path]:
    """What no step may read: the data folder, and the operator's file if a secret is in it."""
    file = Path(os.environ.get(CONFIG_ENV) or CONFIG_FILE)
    values = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    secret = [name for name in values if isinstance(getattr(settings, name, None), SecretStr)]
    return [settings.data_path, *([file.resolve()] if secret else [])]
