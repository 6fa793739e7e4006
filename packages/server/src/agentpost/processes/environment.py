"""What runs an author's code, and the environment of worker processes: what is listed, nothing
else.

A service's environment holds credentials (`AWS_*`, `PG*`, the server's own settings), and whatever
runs in a worker could print them into a file or a reply.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pydantic

ALWAYS: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR"),
    *("PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "DYLD_*"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    *("XDG_*", "FONTCONFIG_*", "MPLCONFIGDIR"),
    *("OMP_*", "OPENBLAS_*", "MKL_*", "NUMEXPR_*", "RAYON_*"),
)
"""What programs need to find themselves, their fonts and certificates, and the user's language.
Not the proxies: their URLs may hold passwords."""

_OWN_PREFIX: Final = "AGENTPOST_"
_THREADS: Final = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    "RAYON_NUM_THREADS",  # of libraries in Rust, such as the typesetter
)


def worker_environment(
    environ: Mapping[str, str], listed: Iterable[str] = (), *, threads: int
) -> dict[str, str]:
    """The variables of ``environ`` that a worker process gets.

    Args:
        listed: names besides `ALWAYS`; ``*`` stands for any characters. A variable of the server
            itself (``AGENTPOST_…``) is passed only when it is named in full.
        threads: how many threads libraries start to compute, unless ``environ`` says it. Each one
            reserves memory at import, and workers run side by side: a call that uses every
            processor takes more of them than the calls of other accounts get.
    """
    patterns = (*ALWAYS, *listed)
    variables = {name: value for name, value in environ.items() if _passes(name, patterns)}
    return {**dict.fromkeys(_THREADS, str(threads)), **variables}


def _passes(name: str, patterns: tuple[str, ...]) -> bool:
    if name.startswith(_OWN_PREFIX):
        return name in patterns
    return any(fnmatchcase(name, pattern) for pattern in patterns)


# --- byte code ------------------------------------------------------------------------------------
# An installer may leave it out, an environment may forbid to write it (PYTHONDONTWRITEBYTECODE),
# and a container's packages may be read-only. Then each new process compiles all it imports: the
# libraries that draw a chart take three seconds of CPU time so, and half a second from byte code.
NOT_WRITTEN: Final = "PYTHONDONTWRITEBYTECODE"
FOLDER: Final = "PYTHONPYCACHEPREFIX"


def is_bytecode_kept(module: ModuleType = pydantic) -> bool:
    """Whether the byte code of an installed library that is loaded lies where Python looks for it.
    One that was loaded has been written unless it cannot be, and then no other's will be."""
    where = module.__spec__.cached if module.__spec__ is not None else None
    return where is None or Path(where).exists()


def bytecode_folder(data: Path) -> Path | None:
    """Where workers keep byte code, below the data folder: the next start of the server is to find
    it. None: where the server does."""
    return None if is_bytecode_kept() else data / "bytecode"


def bytecode_environment(folder: Path | None) -> dict[str, str]:
    """What makes a worker, and the programs it starts, keep byte code in ``folder`` and nowhere
    else; None: as the server does. Python makes the folder. It may be deleted at any time."""
    return {} if folder is None else {NOT_WRITTEN: "", FOLDER: str(folder)}


# --- the interpreter ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Interpreter:
    """``program``: its path; "": the server's own."""

    program: str = ""

    @property
    def path(self) -> str:
        """The program that is started."""
        return self.program or sys.executable

    def search(self) -> dict[str, Any]:
        """Where a process is told to find modules (`author.confinement.settle`): where the server
        does, or in the author's folders and then in what is installed for the interpreter."""
        if not self.program:
            return {"path": sys.path}
        folders = [str(Path.cwd()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        return {"folders": [folder for folder in folders if folder]}


OWN = Interpreter()
