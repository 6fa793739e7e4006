"""Whether workers find the byte code of what they import, and where it is kept when they do not.

An installer may leave it out, an environment may forbid to write it (``PYTHONDONTWRITEBYTECODE``),
and a container's packages may be read-only. Then each new process compiles all it imports: the
libraries that draw a chart take three seconds of CPU time so, and half a second from byte code.
"""

from pathlib import Path
from types import ModuleType
from typing import Final

import pydantic

NOT_WRITTEN: Final = "PYTHONDONTWRITEBYTECODE"
FOLDER: Final = "PYTHONPYCACHEPREFIX"


def is_kept(module: ModuleType = pydantic) -> bool:
    """Whether the byte code of an installed library that is loaded lies where Python looks for it.
    One that was loaded has been written unless it cannot be, and then no other's will be."""
    where = module.__spec__.cached if module.__spec__ is not None else None
    return where is None or Path(where).exists()


def folder(data: Path) -> Path | None:
    """Where workers keep byte code, below the data folder: the next start of the server is to find
    it. None: where the server does."""
    return None if is_kept() else data / "bytecode"


def environment(folder: Path | None) -> dict[str, str]:
    """What makes a worker, and the programs it starts, keep byte code in ``folder`` and nowhere
    else; None: as the server does. Python makes the folder. It may be deleted at any time."""
    return {} if folder is None else {NOT_WRITTEN: "", FOLDER: str(folder)}
