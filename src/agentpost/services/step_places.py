"""Whether steps can run where the settings ``step_user`` and ``step_command`` say (design: Steps
apart)."""

from __future__ import annotations

import asyncio
import os
import tomllib
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from agentpost.clock import SystemClock, new_id
from agentpost.domain import ids
from agentpost.processes import probe
from agentpost.processes.separation import Separation, parse_users
from agentpost.settings import CONFIG_ENV, CONFIG_FILE, Settings
from agentpost.storage.scratch import Scratch

PLACE: Final = "steps"
"""What the doctor calls it."""


def separation(settings: Settings) -> Separation | None:
    """As which user and in which container workers run; None: as the server. Raises `ValueError`
    with what to do."""
    return Separation.parse(settings.step_user, settings.step_command, settings.step_folder)


def launch(settings: Settings) -> tuple[str, ...]:
    """What a program is started by that reads files and is no worker (see `Separation.launch`)."""
    users = parse_users(settings.step_user) if settings.step_user else ()
    return Separation(users, (), settings.data_path).launch


async def trouble(settings: Settings) -> str | None:
    """What is wrong with the place, found by starting a worker there; None when all is well, or
    nothing is set. Raises `ValueError` like `separation`."""
    place = separation(settings)
    if place is None:
        return None
    name = new_id(ids.NODE, SystemClock().now())
    scratch = await asyncio.to_thread(Scratch, settings.data_path / "scratch", name)
    try:
        return await probe.trouble(place, _private(settings), scratch.folder)
    finally:
        await asyncio.to_thread(scratch.close)


def _private(settings: Settings) -> list[Path]:
    """What no step may read: the data folder, and the operator's file if a secret is in it."""
    file = Path(os.environ.get(CONFIG_ENV) or CONFIG_FILE)
    given = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    secret = [name for name in given if isinstance(getattr(settings, name, None), SecretStr)]
    return [settings.data_path, *([file.resolve()] if secret else [])]
