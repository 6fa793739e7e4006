"""Folders that only the server's own user may look into, and what their file system is asked."""

import os
import stat
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)
_PRIVATE = 0o700
_FAN_OUT_LEVELS = 2


def make_private(folder: Path) -> None:
    """Make the folder, or take everybody else's permissions from the one that is there and from the
    folders in it; those of another owner stay as they are, with a warning. Raises `OSError` when
    the folder cannot be made; `FileExistsError` when something else is there."""
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    try:
        # Nobody could reach a file inside a private folder: then one level is enough.
        levels = 1 if _restrict(folder) else _FAN_OUT_LEVELS
        folders = [folder]
        for _ in range(levels):
            folders = [below for each in folders for below in _folders_in(each)]
            for below in folders:
                _restrict(below)
    except PermissionError as error:
        advice = "change its owner, or take the permissions of others away (chmod 700)"
        log.warning("folder_not_private", folder=str(folder), reason=str(error), advice=advice)


def sync_folder(folder: Path) -> None:
    """Names in it survive a power cut from here on."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def time_of(folder: Path) -> float:
    """Now, by the file system's own clock, which the files' times come from."""
    os.utime(folder)
    return folder.stat().st_mtime


def _restrict(folder: Path) -> bool:
    """Make it private; whether it was."""
    if stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0:
        return True
    folder.chmod(_PRIVATE)
    return False


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
