"""The setting ``worker_command_prefix``: a command that starts the processes which run author's
code and read files, such as one that takes another user or makes a container (design: Steps apart).

Such a process has a `Place`. The server opens no name in it that the process could have made into a
link, and the process opens nothing outside it that is the server's.
"""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentpost.agents.files import File
from agentpost.processes import supervisor

SETTING: Final = "AGENTPOST_WORKER_COMMAND_PREFIX"
_PATH_BYTES_MAX: Final = 107
"""Longest path of a Unix socket."""
_SERVER_ONLY: Final = ("USER", "LOGNAME", "SHELL", "XDG_")
_OF_A_CONTAINER: Final = frozenset({"PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"})
_ENTERED_BY_OTHERS: Final = 0o711
_COPY_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CommandPrefix:
    """The words of the command. ``{folder}`` becomes the process's folder, ``{worker}`` a number
    that no other process has at the same time: 1 and up, 0 for previews."""

    words: tuple[str, ...]

    @classmethod
    def parse(cls, words: Sequence[str]) -> "CommandPrefix | None":
        """None for an empty command. Raises `ValueError` for one that cannot be used here."""
        if not words:
            return None
        if sys.platform != "linux":
            raise ValueError(f"{SETTING} needs Linux")
        if shutil.which(words[0]) is None:
            raise ValueError(
                f"{SETTING}: there is no program {words[0]!r} to run: install it, or set its whole"
                " path"
            )
        return cls(tuple(words))

    def command_for(self, folder: Path, worker: int) -> list[str]:
        """The command for one process."""
        return [
            word.replace("{folder}", str(folder)).replace("{worker}", str(worker))
            for word in self.words
        ]


def portable(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that another user or a container does not have themselves."""
    names = environ.keys() - _OF_A_CONTAINER
    return {name: environ[name] for name in names if not name.startswith(_SERVER_ONLY)}


def make_parent() -> Path:
    """A folder for places, which others may pass through and not list. Raises `OSError`."""
    parent = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="agentpost-steps-", dir=parent))
    folder.chmod(_ENTERED_BY_OTHERS)
    if len(os.fsencode(folder / "worker-12345678" / supervisor.CHANNEL)) > _PATH_BYTES_MAX:
        folder.rmdir()
        raise OSError(f"TMPDIR: {parent} is too long for the path of a socket: set a shorter one")
    return folder


@dataclass(frozen=True, slots=True)
class Place:
    """What a process that a prefix starts shares with the server.

    ``folder`` is the server's; others may pass through it, when they know its name. It has the
    socket of the channel, ``given`` with copies of what the process may read, which only the server
    writes, and ``own``, where the process writes.
    """

    folder: Path
    prefix: CommandPrefix
    worker: int

    @classmethod
    def make(cls, parent: Path, prefix: CommandPrefix, worker: int) -> "Place":
        """A new one. Raises `OSError`."""
        place = cls(Path(tempfile.mkdtemp(prefix="worker-", dir=parent)), prefix, worker)
        place.given.mkdir()
        place.own.mkdir()
        place.own.chmod(0o777)
        for folder in (place.given, place.folder):
            folder.chmod(_ENTERED_BY_OTHERS)
        return place

    @property
    def channel(self) -> Path:
        """The socket that the process connects to."""
        return self.folder / supervisor.CHANNEL

    @property
    def given(self) -> Path:
        """The folder of what it may read."""
        return self.folder / "given"

    @property
    def own(self) -> Path:
        """The folder that it writes to."""
        return self.folder / supervisor.OWN

    def argv(self, program: Sequence[str]) -> list[str]:
        """The command line that starts a program here."""
        python = (sys.executable, "-I", "-S", str(Path(supervisor.__file__)))
        return [
            *self.prefix.command_for(self.folder, self.worker),
            *python,
            str(self.folder),
            *program,
        ]

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of a program here: without what leads into the server's user's home."""
        variables = {name: environ[name] for name in environ if not name.startswith(_SERVER_ONLY)}
        return {**variables, "HOME": str(self.own), "TMPDIR": str(self.own)}

    def lend(self, value: Any) -> Any:
        """The value with every file that has a path at a copy of that, which the process may read.
        Blocks. Raises `OSError`."""
        if isinstance(value, File) and value.local_path is not None:
            return replace(value, local_path=self.lend_file(value.local_path))
        if isinstance(value, list | tuple):
            return [self.lend(item) for item in value]
        if isinstance(value, dict):
            return {key: self.lend(item) for key, item in value.items()}
        return value

    def lend_file(self, path: Path) -> Path:
        """A copy of the file, alone in a folder, which the process may read. Blocks. Raises
        `OSError`."""
        folder = Path(tempfile.mkdtemp(dir=self.given))
        copy = folder / path.name
        shutil.copyfile(path, copy)
        copy.chmod(0o444)
        folder.chmod(_ENTERED_BY_OTHERS)
        return copy

    def take_back(self) -> None:
        """Remove what was lent. Blocks."""
        for folder in self.given.iterdir():
            shutil.rmtree(folder, ignore_errors=True)

    def fetch(self, name: str, into: Path) -> None:
        """Copy a file of ``own`` and remove it. Blocks. Raises `OSError`, also for what is no file,
        and for another name of a file that is elsewhere."""
        path = self.own / name
        try:
            source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(source)
                if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                    raise OSError(f"the process gave {name} back, which is not a new file")
                with into.open("wb") as target:
                    _copy(source, target.fileno(), status.st_size)
            finally:
                os.close(source)
        finally:
            with suppress(OSError):
                path.unlink()


def _copy(source: int, target: int, size: int) -> None:
    """Copy so many bytes, fewer at the end; where the file system can, without reading them."""
    try:
        while size and (count := os.copy_file_range(source, target, min(size, _COPY_BYTES))):
            size -= count
    except OSError:  # between these two it cannot; what was copied stays copied
        while size and (count := os.sendfile(target, source, None, size)):
            size -= count
