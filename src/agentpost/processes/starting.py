"""How a worker pool starts its processes: where, with which environment, and what each is given
first."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from agentpost.agents.deaths import NoWorker, WorkerDied
from agentpost.processes import bytecode, capacity
from agentpost.processes.environment import worker_environment
from agentpost.processes.main import frame
from agentpost.processes.prefix import CommandPrefix, Place, make_parent
from agentpost.processes.worker import CallLimits, WorkerProcess

_BOOT_SECONDS_MAX: Final = 60.0
_FOLDER_PREFIX: Final = "worker-"
_ELSEWHERE: Final = "elsewhere"
"""The link to the folder of places, in the folder of the server's process (`storage.scratch`)."""
_NOT_PASSED: Final = frozenset({"PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"})
"""A container has its own."""


class Starter:
    """Starts the workers of one pool. Belongs to one event loop; see `WorkerPool` for what it is
    given."""

    def __init__(
        self,
        workers: int,
        *,
        scratch: Path,
        memory_bytes: int | None,
        env: Iterable[str],
        bytecode_folder: Path | None,
        imports: Iterable[str],
        prefix: CommandPrefix | None,
    ) -> None:
        self.prefix = prefix
        self.imports = tuple(imports)
        self._scratch = scratch
        self._folders = scratch
        self._memory_bytes = capacity.default_memory_bytes() if memory_bytes == 0 else memory_bytes
        self._env = tuple(env)
        # Workers that are kept apart must not find what another one has written there.
        self._bytecode = {} if prefix else bytecode.environment(bytecode_folder)
        self._threads = max(1, capacity.processors() // workers)
        self._numbers: set[int] = set()  # of the processes that a prefix has started

    def prepare(self) -> None:
        """Remove what a killed server left, and make the folder of workers. Raises `OSError`."""
        for left in self._scratch.glob(f"{_FOLDER_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        self._scratch.mkdir(parents=True, exist_ok=True)
        if self.prefix is not None and self._folders == self._scratch:
            self._folders = make_parent()
            mark = self._scratch / _ELSEWHERE
            mark.unlink(missing_ok=True)
            mark.symlink_to(self._folders)

    def tidy(self) -> None:
        """Remove the folder of workers, when all have ended."""
        if self.prefix is not None and self._folders != self._scratch:
            shutil.rmtree(self._folders, ignore_errors=True)
            (self._scratch / _ELSEWHERE).unlink(missing_ok=True)

    async def start(self) -> WorkerProcess:
        """Start a process; it has not been given anything yet. Raises `OSError`."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        if self.prefix is not None:
            return await self._start_by(self.prefix)
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self._folders))
        environ = {**self._environment(), "TMPDIR": str(folder)}
        return await WorkerProcess.spawn(folder, environ)

    async def welcome(self, worker: WorkerProcess) -> None:
        """Give it what it needs before its first call. Raises `NoWorker`, and kills it whatever it
        raises."""
        hello: dict[str, Any] = {
            "path": sys.path,
            "imports": self.imports,
            "memory_bytes": self._memory_bytes,
            "folder": str(worker.folder),
            # What the log leaves out is not sent: it would use up what a call may log.
            "log_level": logging.getLogger().level,
        }
        if worker.place is not None:
            environ = worker.place.environment(self._environment())
            hello["env"] = {name: environ[name] for name in environ.keys() - _NOT_PASSED}
        try:
            limits = CallLimits("it did not begin in time", _BOOT_SECONDS_MAX)
            await worker.ask(frame(hello), limits)
        except BaseException as error:
            worker.kill()
            if isinstance(error, TimeoutError | WorkerDied):
                tail = worker.output.stderr_tail()
                raise NoWorker(f"a worker process could not be started: {error}{tail}") from error
            raise

    async def _start_by(self, prefix: CommandPrefix) -> WorkerProcess:
        number = next(each for each in itertools.count(1) if each not in self._numbers)
        self._numbers.add(number)
        try:
            place = await asyncio.to_thread(Place.make, self._folders, prefix, number)
            environ = place.environment(self._environment())
            worker = await WorkerProcess.spawn(place.own, environ, place)
        except BaseException:
            self._numbers.discard(number)
            raise
        worker.when_ended(lambda _: self._numbers.discard(number))
        return worker

    def _environment(self) -> dict[str, str]:
        return {
            **worker_environment(os.environ, self._env, threads=self._threads),
            **self._bytecode,
        }
