"""Running the bodies of steps and writes: coroutines here, plain functions in a worker process."""

import asyncio
import inspect
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from agentpost.agents import File, Unreadable, values
from agentpost.agents.deaths import NoWorker, WorkerDied, WorkerKilled
from agentpost.author.bodies import Body, name_of
from agentpost.author.objects import Request
from agentpost.author.output import Capture
from agentpost.processes.environment import Interpreter, bytecode_folder
from agentpost.processes.pool import WorkerPool
from agentpost.processes.prefix import CommandPrefix
from agentpost.runtime.journal import Journal
from agentpost.settings import Settings
from agentpost.storage.base import BlobMissing, Storage

log = structlog.get_logger(__name__)
T = TypeVar("T")
Rebuild = Callable[[Mapping[str, str]], Exception]
_FILE_READ_SECONDS = 20.0
TEXT_OF = "agentpost.extraction.reading:text_of"
_REASON_CHARACTERS_MAX = 500


class InfrastructureError(Exception):
    """The body of a call could not be given what it needs: our fault, not the body's."""


INFRASTRUCTURE_ERRORS: Final = (InfrastructureError, NoWorker)
"""Errors that keep a body from running at all."""


async def unless_killed(call: Callable[[], Awaitable[T]], run: Journal, key: str) -> T:
    """What the call returns, made again each time its worker was killed from outside."""
    while True:
        try:
            return await call()
        except WorkerKilled as killed:
            await run.on_killed_worker(killed, key)


def runs_here(fn: Body) -> bool:
    """Whether a body runs in this process, on the agent loop."""
    return inspect.iscoroutinefunction(fn)


async def _sleep(run: Journal, seconds: float) -> None:
    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Steps:
    """Runs bodies and reads files for turns and jobs: those of one account, once `for_account` has
    named it, on that account's share of the worker pool.

    All calls raise what the body raises, `TimeoutError`, one of `INFRASTRUCTURE_ERRORS`, and what
    the run raises. The seconds of a request are for a run of the body that nobody interrupted,
    without the wait for a worker. ``pause`` lets a run wait that many seconds before another try.
    """

    pool: WorkerPool
    storage: Storage
    account: str | None = None
    rebuild: Rebuild = values.rebuild_error
    """Makes the exception of a recorded error."""
    pause: Callable[[Journal, float], Awaitable[object]] = _sleep
    read_seconds: float = _FILE_READ_SECONDS

    def for_account(self, account: str) -> "Steps":
        """The same for one account."""
        return replace(self, account=account)

    # --- files ------------------------------------------------------------------------------------
    async def path(self, file: File) -> Path:
        """See `FileSource.path`; raises `BlobMissing`, and `InfrastructureError` when the storage
        fails."""
        try:
            return await self.storage.local(file.blob)
        except BlobMissing:
            raise
        except Exception as error:
            raise InfrastructureError(f"{file.id} cannot be read now: {error!r}") from error

    async def text(self, file: File) -> str:
        """See `FileSource.text`: files are hostile, so they are read in a worker process, within
        limits of their own."""
        local = replace(file, local_path=await self.path(file))
        seconds = self.read_seconds
        try:
            text: str = await self.pool.call(
                *(TEXT_OF, [local]),
                account=self._account,
                key=file.id,
                timeout=seconds,
                cpu_seconds=seconds,
            )
        except (NoWorker, WorkerKilled):
            raise
        except TimeoutError as error:
            why = f"reading it takes longer than {seconds:g} seconds"
            raise Unreadable(f"{file.name} could not be read: {why}") from error
        except WorkerDied as error:
            why = "it takes too much memory or time, or is damaged"
            raise Unreadable(f"{file.name} could not be read: {why}") from error
        return text

    async def _localize(self, value: Any) -> Any:
        """The value with every file in it given a local path, for a worker process."""
        if isinstance(value, File):
            return replace(value, local_path=await self.path(value))
        if isinstance(value, list | tuple):
            return [await self._localize(item) for item in value]
        if isinstance(value, dict):
            return {key: await self._localize(item) for key, item in value.items()}
        return value

    # --- bodies -----------------------------------------------------------------------------------
    async def run(self, call: Request, n: int, run: Journal, into: Path | None = None) -> Any:
        """What the body of a call with that number returns. With ``into`` a worker process writes a
        file there instead."""
        fn, args, kwargs = call.fn, call.args or (), call.kwargs
        assert fn is not None, "a call without a function is not run"
        if runs_here(fn):
            await run.ready()
            with Capture({"call": n}):
                limited = nullcontext() if call.seconds is None else asyncio.timeout(call.seconds)
                async with limited:
                    return await fn(*args, **kwargs)

        async def attempt() -> Any:
            local_args, local_kwargs = await self._localize([list(args), kwargs])
            return await self.pool.call(
                *(values.function_ref(fn), local_args, local_kwargs),
                account=self._account,
                key=run.key_of(n),
                into=into,
                timeout=call.seconds,
                ready=run.ready,
            )

        with Capture({"call": n}):
            return await unless_killed(attempt, run, run.key_of(n))

    async def run_with_retries(self, call: Request, n: int, run: Journal) -> str:
        """What a step's body returns as recorded JSON, with more tries after a failed one."""
        assert call.fn is not None, "a step has a function"
        tries = 0
        while True:
            try:
                return values.dump(await self.run(call, n, run))
            except INFRASTRUCTURE_ERRORS:
                raise
            except Exception as error:
                if not call.retry.is_worth(error, tries):
                    raise
                failed = error
            run.go_on()
            pause = call.retry.backoff.seconds(tries)
            log.info(
                "step_retried",
                call=n,
                function=name_of(call.fn),
                attempt=(tries + 1),
                retries=call.retry.most,
                reason=f"{type(failed).__name__}: {failed}"[:_REASON_CHARACTERS_MAX],
                pause_ms=round(pause * 1000),
            )
            await self.pause(run, pause)
            tries += 1

    @asynccontextmanager
    async def contents(
        self, call: Request, n: int, run: Journal
    ) -> AsyncIterator[bytes | Path | None]:
        """The contents of a file to write; valid inside the context."""
        if call.fn is not None and not runs_here(call.fn):
            with _folder() as folder:
                into = Path(folder) / "contents"
                await self.run(call, n, run, into)
                yield into
            return
        contents = call.data if call.fn is None else await self.run(call, n, run)
        yield contents.encode() if isinstance(contents, str) else contents

    @property
    def _account(self) -> str:
        assert self.account is not None, "a call takes an account's share of the worker pool"
        return self.account


def make_steps(
    settings: Settings,
    storage: Storage,
    scratch: Path,
    imports: Iterable[str] = (),
    rebuild: Rebuild = values.rebuild_error,
) -> Steps:
    """The worker pool, its limits from the settings, and what calls it. ``scratch`` is a folder of
    the pool alone; ``imports`` names what idle workers import; ``rebuild`` makes the exception of
    an error that was recorded, or that came from a worker."""
    prefix = CommandPrefix.parse(settings.worker_command_prefix)
    if prefix is not None and rebuild is values.rebuild_error:
        rebuild = values.known_error
    pool = WorkerPool(
        settings.pool_workers,
        scratch=scratch,
        memory_bytes=settings.worker_memory_bytes,
        seconds=settings.step_seconds,
        cpu_seconds=settings.step_cpu_seconds,
        env=settings.worker_env,
        imports=imports,
        bytecode_folder=bytecode_folder(settings.data_path),
        rebuild=rebuild,
        prefix=prefix,
        interpreter=Interpreter(settings.agent_python),
    )
    return Steps(pool, storage, rebuild=rebuild, read_seconds=settings.file_read_seconds)


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="agentpost-build-")
    except OSError as error:
        raise InfrastructureError(f"there is no temporary folder: {error}") from error
