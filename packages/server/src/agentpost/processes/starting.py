"""How worker and agent processes are started: where, with which environment, and what each is told
first."""

import asyncio
import itertools
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from agentpost.agents.deaths import WorkerDied
from agentpost.author.worker_process import frame
from agentpost.processes.environment import Interpreter, bytecode_environment, worker_environment
from agentpost.processes.prefix import CommandPrefix, Place, make_parent, portable
from agentpost.processes.worker import CallLimits, WorkerProcess

_FOLDER_PREFIX: Final = "worker-"
_ELSEWHERE: Final = "elsewhere"
"""The link to the folder of places, in the folder of the server's process (`storage.scratch`)."""


Process = TypeVar("Process", bound=WorkerProcess)


class Starter(Generic[Process]):
    """Starts processes of one kind. Belongs to one event loop.

    Args:
        kind: the class of what is started.
        scratch: a folder of these processes alone: each has its temporary files below.
        threads: how many threads libraries start to compute in each (`worker_environment`).
        env: names of environment variables that they get besides the usual ones.
        bytecode_folder: where they keep byte code; None: as the server.
        prefix: the command that starts them; None: none.
        interpreter: what runs an author's code.
        first: the least number that the prefix is given.
    """

    def __init__(
        self,
        kind: type[Process],
        *,
        scratch: Path,
        threads: int,
        env: Iterable[str],
        bytecode_folder: Path | None,
        prefix: CommandPrefix | None,
        interpreter: Interpreter,
        first: int = 1,
    ) -> None:
        self.prefix = prefix
        self.interpreter = interpreter
        self._first = first
        self._kind = kind
        self._scratch = scratch
        self._folders = scratch
        self._env = tuple(env)
        # Processes that are kept apart must not find what another one has written there.
        self._bytecode = {} if prefix else bytecode_environment(bytecode_folder)
        self._threads = threads
        self._numbers: set[int] = set()  # of the processes that a prefix has started

    def prepare(self) -> None:
        """Remove what a killed server left, and make the folder of processes. Raises `OSError`."""
        for left in self._scratch.glob(f"{_FOLDER_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        self._scratch.mkdir(parents=True, exist_ok=True)
        if self.prefix is not None and self._folders == self._scratch:
            self._folders = make_parent()
            mark = self._scratch / _ELSEWHERE
            mark.unlink(missing_ok=True)
            mark.symlink_to(self._folders)

    def tidy(self) -> None:
        """Remove the folder of processes, when all have ended."""
        if self.prefix is not None and self._folders != self._scratch:
            shutil.rmtree(self._folders, ignore_errors=True)
            (self._scratch / _ELSEWHERE).unlink(missing_ok=True)

    async def start(self, interpreter: Interpreter | None = None) -> Process:
        """Start a process; it has not been told anything yet. Raises `OSError`. ``interpreter``:
        what runs it; None: what runs an author's code."""
        interpreter = interpreter or self.interpreter
        await asyncio.to_thread(self._scratch.mkdir, parents=True, exist_ok=True)
        if self.prefix is not None:
            return await self._start_by(self.prefix, interpreter)
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self._folders))
        environ = {**self._environment(), "TMPDIR": str(folder)}
        return await self._kind.spawn(folder, environ, interpreter=interpreter)

    async def greet(self, process: Process, seconds: float, **more: Any) -> dict[str, Any]:
        """Tell it what every process is told first, and more that its kind needs; its answer.
        Raises `OSError` when that does not come in so many seconds. Whatever is raised, the process
        is killed."""
        hello: dict[str, Any] = {
            **more,
            **process.interpreter.search(),
            "folder": str(process.folder),
            # What the log leaves out is not sent: it would use up what a call may log.
            "log_level": logging.getLogger().level,
        }
        if process.place is not None:
            hello["env"] = portable(process.place.environment(self._environment()))
        try:
            limits = CallLimits("it did not begin in time", seconds)
            return await process.ask(frame(hello), limits)
        except BaseException as error:
            process.kill()
            if isinstance(error, TimeoutError | WorkerDied):
                raise OSError(f"{error}{process.output.stderr_tail()}") from error
            raise

    async def _start_by(self, prefix: CommandPrefix, interpreter: Interpreter) -> Process:
        number = next(each for each in itertools.count(self._first) if each not in self._numbers)
        self._numbers.add(number)
        try:
            place = await asyncio.to_thread(Place.make, self._folders, prefix, number)
            environ = place.environment(self._environment())
            process = await self._kind.spawn(place.own, environ, place, interpreter)
        except BaseException:
            self._numbers.discard(number)
            raise
        process.when_ended(lambda _: self._numbers.discard(number))
        return process

    def _environment(self) -> dict[str, str]:
        return {
            **worker_environment(os.environ, self._env, threads=self._threads),
            **self._bytecode,
        }
