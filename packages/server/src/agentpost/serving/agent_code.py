"""Import an author's code again after it was changed, or keep what was imported before.

The author's modules are those below the current folder and below the folder of the agent's module,
without what is installed there. Nothing else of the process is imported again.
"""

import hashlib
import importlib
import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Final

from agentpost.agents import registry
from agentpost.agents.registry import Agent, UnknownAgent
from agentpost.clock import SystemClock

_NEVER: Final = ("__main__", "agentpost", "agentpost_client", "agentpost_offline")
_COARSE: Final = 20_000
"""How far the times of a file system may be behind the clock, in microseconds."""


class AgentCode:
    """The code of the agent that ``spec``, a ``module:object``, names.

    Raises `UnknownAgent` for any other text.
    """

    def __init__(self, spec: str) -> None:
        module, _, name = spec.partition(":")
        if not (module and name) or module in registry.SCHEMES:
            raise UnknownAgent(f"{spec!r} is no Python code that could be loaded: module:object")
        self.spec = spec
        self._module = module
        self._sums: dict[Path, bytes] = {}
        self._failed = True
        self._begun = 0

    @property
    def is_there(self) -> bool:
        """Whether there is a module of that name, be it broken or not."""
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        importlib.invalidate_caches()
        try:
            return importlib.util.find_spec(self._module.partition(".")[0]) is not None
        except ValueError:  # imported by other means
            return True

    @property
    def folders(self) -> set[Path]:
        """Where its files are; a change in there may concern it."""
        return {Path.cwd(), *(path.parent for path in self._sums)}

    def concerns(self, path: Path) -> bool:
        """Whether the code is to be loaded again, since that file was written or removed.

        A file that was saved without a change is not, nor is one that was never imported, unless
        the last import failed.
        """
        if path.suffix != ".py":
            return False
        checksum = self._sums.get(path)
        return self._failed if checksum is None else checksum != _sum(path)

    def changed_files(self) -> set[Path]:
        """The files for which `concerns` holds because of a change since the last import began.

        Notices of changes can be missed: they begin after the import, and some file systems have
        none.
        """
        files = set(self._sums)
        if self._failed:
            files.update(self._beside())
        return {path for path in files if _write_time(path) >= self._begun and self.concerns(path)}

    def load(self) -> Agent:
        """Import it, again or for the first time.

        Raises `UnknownAgent`, and what was imported before is in place again.
        """
        self._begun = SystemClock().now() - _COARSE
        self._sums = {path: _sum(path) for path in {*self._sums, *self._beside()}}
        before = dict(self._modules())
        for name, module in before.items():
            # Python compares times in whole seconds, and would take a change within one for none.
            with suppress(OSError, NotImplementedError):
                Path(importlib.util.cache_from_source(module.__file__ or "")).unlink()
            del sys.modules[name]
        importlib.invalidate_caches()
        try:
            agent = registry.resolve(self.spec)
        except BaseException:
            self._remember(failed=True)
            for name, _ in list(self._modules()):
                del sys.modules[name]
            sys.modules.update(before)
            raise
        self._remember(failed=False)
        return agent

    def _remember(self, *, failed: bool) -> None:
        self._failed = failed
        # A file that was written meanwhile was perhaps imported as it was before.
        files = {Path(module.__file__ or "") for _, module in self._modules()}
        sums = {path: self._sums.get(path, _sum(path)) for path in files}
        self._sums = self._sums | sums if failed else sums

    def _beside(self) -> Iterator[Path]:
        """Every file with code in the folders, imported or not."""
        return (path for folder in self.folders for path in folder.glob("*.py"))

    def _modules(self) -> Iterator[tuple[str, ModuleType]]:
        """The author's modules that are imported."""
        roots = [Path.cwd()]
        top = sys.modules.get(self._module.partition(".")[0])
        if top is not None and getattr(top, "__file__", None):
            file = Path(top.__file__ or "")
            roots.append(file.parent.parent if file.name == "__init__.py" else file.parent)
        for name, module in list(sys.modules.items()):
            module_file = getattr(module, "__file__", None)
            if (
                not module_file
                or name.partition(".")[0] in _NEVER
                or registry.is_installed(module_file)
            ):
                continue
            if any(Path(module_file).is_relative_to(root) for root in roots):
                yield name, module


def _sum(path: Path) -> bytes:
    """What tells two contents of a file apart; the same for every file that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b""


def _write_time(path: Path) -> float:
    """When it was written or replaced, in microseconds since 1970 UTC; infinite if it is gone."""
    try:
        return path.stat().st_ctime_ns // 1_000
    except OSError:
        return math.inf
