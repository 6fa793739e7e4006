"""Running the bodies of steps and writes: coroutines here, plain functions in a worker process."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import structlog

from agentpost.agents import File, values
from agentpost.agents.base import current_step_key
from agentpost.agents.output import captured
from agentpost.agents.pool import NoWorker, WorkerPool
from agentpost.storage.base import BlobMissing, Storage

log = structlog.get_logger(__name__)
Body = Callable[..., Any]
REASON_CHARACTERS_MAX = 500
RETRY_SECONDS_FIRST = 0.2
RETRY_SECONDS_MAX = 10.0


class Hindered(Exception):
    """The body of a call could not be given what it needs: our fault, not the body's."""


HINDRANCES: Final = (Hindered, NoWorker)
"""What keeps a body from running at all."""


class Blobs:
    """How a `File` inside a turn or job reaches its bytes (see `FileSource`)."""

    def __init__(self, storage: Storage, pool: WorkerPool) -> None:
        self._storage = storage
        self._pool = pool

    async def path(self, file: File) -> Path:
        """See `FileSource.path`; raises `BlobMissing`, and `Hindered` when the storage fails."""
        try:
            return await self._storage.local(file.blob)
        except BlobMissing:
            raise
        except Exception as error:
            raise Hindered(f"{file.id} cannot be read now: {error!r}") from error

    async def text(self, file: File) -> str:
        """See `FileSource.text`: files are hostile, so they are read in a worker process."""
        local = replace(file, local_path=await self.path(file))
        text: str = await self._pool.call("agentpost.agents.reading:text_of", [local], key=file.id)
        return text

    async def localized(self, value: Any) -> Any:
        """The value with every file in it given a local path, for a worker process."""
        if isinstance(value, File):
            return replace(value, local_path=await self.path(value))
        if isinstance(value, list | tuple):
            return [await self.localized(item) for item in value]
        if isinstance(value, dict):
            return {key: await self.localized(item) for key, item in value.items()}
        return value


def name_of(fn: Body) -> str:
    """How a body is named in its call's fingerprint."""
    return f"{fn.__module__}:{getattr(fn, '__qualname__', type(fn).__qualname__)}"


def check_body(fn: Body) -> None:
    """Raises `TypeError` for a plain function that a worker process could not import."""
    if not inspect.iscoroutinefunction(fn):
        values.function_ref(fn)


@dataclass(frozen=True, slots=True)
class Steps:
    """Runs bodies for turns and jobs."""

    pool: WorkerPool
    blobs: Blobs

    async def value(self, fn: Body, args: tuple[Any, ...], key: str) -> str:
        """Run a step's body; its value as recorded JSON. Raises what the body raises, and one of
        `HINDRANCES`."""
        if inspect.iscoroutinefunction(fn):
            with _keyed(key):
                return values.dump(await fn(*args))
        local = await self.blobs.localized(list(args))
        with _keyed(key):
            return values.dump(await self.pool.call(values.function_ref(fn), local, key=key))

    async def retried(
        self,
        fn: Body,
        args: tuple[Any, ...],
        key: str,
        *,
        retries: int,
        timeout: float | None,
        go_on: Callable[[], None],
    ) -> str:
        """`value` with a limit in seconds per try and more tries after a failed one; ``go_on``
        raises when there is to be no further try."""
        tried = 0
        while True:
            try:
                async with asyncio.timeout(timeout):
                    return await self.value(fn, args, key)
            except Exception as error:
                if tried >= retries:
                    raise
                failed = error
            go_on()
            pause = min(RETRY_SECONDS_FIRST * 2**tried, RETRY_SECONDS_MAX)
            _log_retry(fn, key, tried + 1, retries, pause, failed)
            await asyncio.sleep(pause)
            go_on()
            tried += 1

    @asynccontextmanager
    async def contents(
        self, data: bytes | str | Path | Body, args: tuple[Any, ...], key: str
    ) -> AsyncIterator[bytes | Path]:
        """The contents of a file to write; valid inside the context."""
        if isinstance(data, bytes | Path):
            yield data
        elif isinstance(data, str):
            yield data.encode()
        elif inspect.iscoroutinefunction(data):
            with _keyed(key):
                built = await data(*args)
            yield built.encode() if isinstance(built, str) else built
        else:
            local = await self.blobs.localized(list(args))
            with _folder() as folder:
                into = Path(folder) / "contents"
                with _keyed(key):
                    await self.pool.build(values.function_ref(data), local, key=key, into=into)
                yield into


def _log_retry(
    fn: Body, key: str, tried: int, retries: int, pause: float, error: Exception
) -> None:
    log.info(
        "step_retried",
        call=int(key.rpartition(":")[2]),
        function=name_of(fn),
        attempt=tried,
        retries=retries,
        reason=f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX],
        pause_ms=round(pause * 1000),
    )


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="agentpost-build-")
    except OSError as error:
        raise Hindered(f"there is no temporary folder: {error}") from error


class _keyed:  # noqa: N801 - reads as a statement
    """Inside: `step_key()` is that key, and lines of the log have the number of the call."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._captured = captured(call=int(key.rpartition(":")[2]))

    def __enter__(self) -> None:
        self._token = current_step_key.set(self._key)
        self._captured.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._captured.__exit__(None, None, None)
        current_step_key.reset(self._token)
