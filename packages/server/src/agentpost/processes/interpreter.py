"""The interpreter that runs an author's code: the server's own, or one that the author has made."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
