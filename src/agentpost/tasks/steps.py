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

from agentpost.agents import File, Unreadable, values
from agentpost.agents.base import current_step_key
from agentpost.agents.pool import NoWorker, WorkerDied, WorkerPool
from agentpost.services.context import House
from agentpost.storage.base import BlobMissing, Storage

Body = Callable[..., Any]
RETRY_SECONDS_FIRST = 0.2
RETRY_SECONDS_MAX = 10.0
FILE_READ_SECONDS = 20.0
TEXT_OF = "agentpost.agents.reading:text_of"


class Hindered(Exception):
    """The body of a call could not be given what it needs: our fault, not the body's."""


HINDRANCES: Final = (Hindered, NoWorker)
"""What keeps a body from running at all."""


class Blobs:
    """How a `File` inside a turn or job reaches its bytes (see `FileSource`)."""

    def __init__(
        self,
        storage: Storage,
        pool: WorkerPool,
        *,
        account: str | None = None,
        read_seconds: float = FILE_READ_SECONDS,
    ) -> None:
        self._storage = storage
        self._pool = pool
        self._account = account
        self._read_seconds = read_seconds

    def for_account(self, account: str) -> Blobs:
        """The same, reading files on that account's share of the worker pool."""
        return Blobs(self._storage, self._pool, account=account, read_seconds=self._read_seconds)

    async def path(self, file: File) -> Path:
        """See `FileSource.path`; raises `BlobMissing`, and `Hindered` when the storage fails."""
        try:
            return await self._storage.local(file.blob)
        except BlobMissing:
            raise
        except Exception as error:
            raise Hindered(f"{file.id} cannot be read now: {error!r}") from error

    async def text(self, file: File) -> str:
        """See `FileSource.text`: files are hostile, so they are read in a worker process, within
        limits of their own."""
        assert self._account is not None, "reading takes an account's share of the pool"
        local = replace(file, local_path=await self.path(file))
        seconds = self._read_seconds
        try:
            text: str = await self._pool.call(
                *(TEXT_OF, [local]),
                account=self._account,
                key=file.id,
                timeout=seconds,
                cpu_seconds=seconds,
            )
        except NoWorker:
            raise
        except TimeoutError as error:
            why = f"reading it takes longer than {seconds:g} seconds"
            raise Unreadable(f"{file.name} could not be read: {why}") from error
        except WorkerDied as error:
            why = "it takes too much memory or time, or is damaged"
            raise Unreadable(f"{file.name} could not be read: {why}") from error
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
    """Runs bodies for turns and jobs: those of one account, once `for_account` has named it."""

    pool: WorkerPool
    blobs: Blobs
    account: str | None = None

    def for_account(self, account: str) -> Steps:
        """The same, on that account's share of the worker pool."""
        return Steps(self.pool, self.blobs.for_account(account), account)

    async def value(
        self, fn: Body, args: tuple[Any, ...], key: str, *, timeout: float | None = None
    ) -> str:
        """Run a step's body; its value as recorded JSON. ``timeout`` is in seconds, without the
        wait for a worker. Raises what the body raises, `TimeoutError`, and one of `HINDRANCES`."""
        if inspect.iscoroutinefunction(fn):
            with _keyed(key):
                async with asyncio.timeout(timeout):
                    return values.dump(await fn(*args))
        assert self.account is not None, "a step takes an account's share of the pool"
        local = await self.blobs.localized(list(args))
        made = await self.pool.call(
            values.function_ref(fn), local, account=self.account, key=key, timeout=timeout
        )
        return values.dump(made)

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
                return await self.value(fn, args, key, timeout=timeout)
            except Exception:
                if tried >= retries:
                    raise
            go_on()
            await asyncio.sleep(min(RETRY_SECONDS_FIRST * 2**tried, RETRY_SECONDS_MAX))
            go_on()
            tried += 1

    @asynccontextmanager
    async def contents(
        self,
        data: bytes | str | Path | Body,
        args: tuple[Any, ...],
        key: str,
        *,
        timeout: float | None = None,
    ) -> AsyncIterator[bytes | Path]:
        """The contents of a file to write; valid inside the context. ``timeout`` is that of a
        function which makes them, as in `value`."""
        if isinstance(data, bytes | Path):
            yield data
        elif isinstance(data, str):
            yield data.encode()
        elif inspect.iscoroutinefunction(data):
            with _keyed(key):
                async with asyncio.timeout(timeout):
                    built = await data(*args)
            yield built.encode() if isinstance(built, str) else built
        else:
            assert self.account is not None, "a build takes an account's share of the pool"
            local = await self.blobs.localized(list(args))
            with _folder() as folder:
                into = Path(folder) / "contents"
                await self.pool.build(
                    *(values.function_ref(data), local),
                    account=self.account,
                    key=key,
                    into=into,
                    timeout=timeout,
                )
                yield into


def make_steps(house: House, scratch: Path) -> Steps:
    """The worker pool, its limits from the settings, and what calls it. ``scratch`` is a folder of
    the pool alone."""
    settings = house.settings
    pool = WorkerPool(
        settings.pool_workers,
        scratch=scratch,
        memory_bytes=settings.worker_memory_bytes,
        seconds=settings.step_seconds,
        cpu_seconds=settings.step_cpu_seconds,
        env=settings.worker_env,
    )
    return Steps(pool, Blobs(house.storage, pool, read_seconds=settings.file_read_seconds))


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="agentpost-build-")
    except OSError as error:
        raise Hindered(f"there is no temporary folder: {error}") from error


class _keyed:  # noqa: N801 - reads as a statement
    """Inside: `step_key()` is that key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __enter__(self) -> None:
        self._token = current_step_key.set(self._key)

    def __exit__(self, *exc: object) -> None:
        current_step_key.reset(self._token)
