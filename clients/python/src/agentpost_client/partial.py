"""A download on its way to the disk: all of the file under its name, or nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import Self
from unicodedata import category
from uuid import uuid4

FALLBACK_NAME = "file"
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"  # emoji and Persian need them
_AT_THE_ENDS = re.compile(r"^[\s.]+|\s+$")


def place_for(name: str, into: Path) -> Path:
    """Where a file called ``name`` goes: inside ``into`` if that is a folder, else ``into`` itself.

    The name comes from the server: only its last part counts, so it can't lead out of the folder.
    """
    return into / local_name(name) if into.is_dir() else into


def local_name(name: str) -> str:
    """The last part of a name, without characters that nobody sees and without dots at its
    beginning: a server does not choose the name of a hidden file, such as ``.bashrc``."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(c for c in last if c in _JOINERS or category(c) not in _INVISIBLE)
    return _AT_THE_ENDS.sub("", visible) or FALLBACK_NAME


class PartialFile:
    """A context in which bytes are written beside the target; `keep` puts them in its place.

    Leaving the context without `keep` removes what was written. An `OSError` of the disk is the
    caller's to handle.
    """

    def __init__(self, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self._target = target
        self._path = target.with_name(f".{uuid4().hex}.part")
        self._stream = self._path.open("xb")

    def write(self, chunk: bytes) -> None:
        self._stream.write(chunk)

    def keep(self) -> None:
        """Make the file visible under its name, replacing what was there, in one step."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._path.replace(self._target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._path.unlink(missing_ok=True)
