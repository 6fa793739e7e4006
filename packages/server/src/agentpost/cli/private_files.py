"""Files of the person who runs the commands that nobody else may read: profiles, secrets, places.

They are replaced in one step, so a reader never sees half of one, and two writers leave one of the
two whole.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = "agentpost"


def config_folder() -> Path:
    """Where settings of the person are: ``~/.config/agentpost``, or below XDG_CONFIG_HOME. Raises
    `OSError` when neither is known."""
    return _below("XDG_CONFIG_HOME", ".config")


def state_folder() -> Path:
    """Where places to continue from are: ``~/.local/state/agentpost``, or below XDG_STATE_HOME.
    Raises `OSError` when neither is known."""
    return _below("XDG_STATE_HOME", ".local/state")


def write(path: Path, text: str) -> None:
    """Write the file with mode 0600, in one step; folders that are missing are made with 0700. A
    link is followed: the file it leads to is replaced. Raises `OSError`."""
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _below(variable: str, otherwise: str) -> Path:
    """XDG: an address that is not absolute does not count."""
    value = os.environ.get(variable, "")
    if value.startswith("/"):
        return Path(value) / FOLDER
    try:
        return Path.home() / otherwise / FOLDER
    except RuntimeError:  # a user without an entry in the list of users, as in containers
        raise OSError(
            f"this user has no home folder: set HOME, or {variable}, to the absolute path of a"
            " folder"
        ) from None
