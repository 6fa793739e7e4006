"""`agentpost dev`: a server that reloads its agent on save."""

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import typer

from agentpost.agents import registry
from agentpost.agents.registry import Agent, UnknownAgent
from agentpost.cli import private_files
from agentpost.cli.context import complain
from agentpost.cli.errors import say
from agentpost.cli.printing import print_text
from agentpost.observability import logging
from agentpost.runtime.runs import Run
from agentpost.server import Server
from agentpost.serving import process
from agentpost.settings import Settings, load_settings

# The author's modules are those below the current folder and below the folder of the agent's
# module, without what is installed there. Nothing else of the process is imported again.
_NEVER: Final = ("__main__", "agentpost", "agentpost_client", "agentpost_offline")


class AgentCode:
    """The code of the agent that ``spec``, a ``module:object``, names. Raises `UnknownAgent` for
    any other text."""

    def __init__(self, spec: str) -> None:
        module, _, name = spec.partition(":")
        if not (module and name) or module in registry.SCHEMES:
            raise UnknownAgent(f"{spec!r} is no Python code that could be loaded: module:object")
        self.spec = spec
        self._module = module
        self._sums: dict[Path, bytes] = {}
        self._failed = True

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

    def changed_files(self) -> set[Path]:
        """The files of the code that were written or removed since the last import began, and when
        it failed those that are new as well: one may be what was missing.

        By what is in them: a file that was saved without a change is none. They are read again at
        each look, since some file systems tell of no changes.
        """
        files = {*self._sums, *(self._beside() if self._failed else ())}
        return {
            path for path in files if path.suffix == ".py" and self._sums.get(path) != _sum(path)
        }

    def load(self) -> Agent:
        """Import it, again or for the first time. Raises `UnknownAgent`, and what was imported
        before is in place again."""
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
        """Every file with code in the folders of those that were imported, and in this one."""
        folders = {Path.cwd(), *(path.parent for path in self._sums)}
        return (path for folder in folders for path in folder.glob("*.py"))

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


_AGENT: Final = "agent:agent"
_FOLDER: Final = ".agentpost"
_KEY: Final = "dev-key"
_GIVEN: Final = "$AGENTPOST_BOOTSTRAP_API_KEY"
_OTHER: Final = ("offline", "")
_LOOK_SECONDS: Final = 0.3
_SAVE_SECONDS: Final = 0.1
"""After the first change that is seen: whoever saves several files has saved the others by then."""


def run(agent: str | None, options: Mapping[str, Any]) -> None:
    """Serve that agent until asked to stop; ends the command with 1 when there is none."""
    try:
        settings = load_settings(**options)
        spec = agent or (settings.agent if settings.agent not in _OTHER else _AGENT)
        code = AgentCode(spec)
        if not code.is_there:
            raise UnknownAgent(
                f"there is no module for {spec!r} in {Path.cwd()} or on PYTHONPATH."
                " To create an agent: agentpost new my-agent"
            )
        data_dir = settings.data_dir or str(_folder())
        _wait_for_good_code(code)
    except (UnknownAgent, ValueError, OSError) as error:
        complain(error)
        raise typer.Exit(1) from None
    # The code that is imported again is this process's.
    here = {"agent": spec, "data_dir": data_dir, "agent_processes": 0, "agent_python": ""}
    process.run({**options, **here}, _Developing(code))


def _folder() -> Path:
    """The data folder of this agent's development, which no version control takes in."""
    folder = Path.cwd() / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError), (folder / ".gitignore").open("x") as file:
        file.write("*\n")
    return folder


def _wait_for_good_code(code: AgentCode) -> None:
    """Return when it can be imported; each problem is shown once."""
    while True:
        try:
            code.load()
            return
        except UnknownAgent as error:
            say(f"{error}\nNo agent is served yet. Fix the file and save it.")
        while not code.changed_files():
            time.sleep(_LOOK_SECONDS)
        time.sleep(_SAVE_SECONDS)


class _Developing:
    """See `serving.Companion`."""

    def __init__(self, code: AgentCode) -> None:
        self._code = code
        self._diverged: set[tuple[str, str | None]] = set()  # what was told

    def greeting(self, server: Server, settings: Settings) -> str:
        """The address, the key, and how to call it."""
        url, key = settings.public_url, _key(server, settings)
        lines = [
            f"agentpost is ready at {url}   (agent: {self._code.spec}, reloads on save)",
            "",
            "In another terminal:",
            "",
            f"  export AGENTPOST_URL={url} AGENTPOST_KEY={key}",
            '  agentpost send "Hello" --conversation customer-4711',
            "",
            f'  curl -s {url}/v1/messages -H "Authorization: Bearer {key}" \\',
            """    -d '{"message": "Hello", "conversation": "customer-4711"}'""",
            "",
        ]
        if server.first is not None and server.first.login is not None:
            lines += ["In a browser; this link works once:", f"  {server.first.login.url}", ""]
        return "\n".join(lines)

    async def attend(self, server: Server) -> None:
        """Load the code again with each change."""
        server.when_diverged(self._tell_divergence)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            changed = await asyncio.to_thread(self._code.changed_files)
            if changed:
                await asyncio.sleep(_SAVE_SECONDS)
                await self._serve_with(server, ", ".join(sorted(path.name for path in changed)))

    async def _serve_with(self, server: Server, names: str) -> None:
        try:
            await server.reload(self._code.load)
        except UnknownAgent as error:
            _tell(
                f"cannot reload {names}:\n{error}\n"
                "The previous code still answers; plain step functions wait for the fix."
            )
        except Exception as error:  # the database, for a moment: the next sweep repeats the work
            _tell(f"reloaded {names}; running work restarts in a moment ({error})")
        else:
            _tell(f"reloaded {names}")

    def _tell_divergence(self, run: Run) -> None:
        """Say which call of a turn or job differs from its record, and what to do; once."""
        if (run.owner, run.divergence) in self._diverged:
            return
        self._diverged.add((run.owner, run.divergence))
        is_turn = run.owner.startswith("msg_")
        kind = "The turn" if is_turn else "The job"
        waits = "" if is_turn else " The job waits for code that makes the recorded call."
        _tell(
            f"{kind} {run.owner} had begun with other code and cannot continue with this one:\n"
            f"{run.divergence}.{waits}\n"
            "Send the message again to run the new code from its beginning."
        )


def _key(server: Server, settings: Settings) -> str:
    """The key of the first start, which is kept for the next ones: it opens nothing but this. A key
    that the author gave is neither shown nor written: it may open more."""
    path = settings.data_path / _KEY
    bootstrap_key = settings.bootstrap_api_key.get_secret_value()
    if server.first is not None and not bootstrap_key:
        private_files.write(path, server.first.key.secret)
        return server.first.key.secret
    if server.first is not None:
        path.unlink(missing_ok=True)  # of a database that is gone
        return _GIVEN
    try:
        stored_key = path.read_text("utf-8").strip()
    except OSError:
        return _GIVEN if bootstrap_key else "the-key-of-the-first-start"
    return _GIVEN if stored_key == bootstrap_key else stored_key


def _tell(text: str) -> None:
    logging.flush()  # what was logged before stands above
    print_text(f"agentpost dev: {text}")
