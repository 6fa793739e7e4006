"""Plain step functions on a thread of this process: a worker process would take longer to start
than the whole test. Arguments, values and errors pass through the same JSON as there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentpost.agents import values
from agentpost.agents.base import current_step_key
from agentpost.processes.pool import Ready, WorkerPool


class Threads(WorkerPool):
    """See `WorkerPool`; without its limits of memory and CPU time."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(1, scratch=scratch, seconds=60, cpu_seconds=None)

    async def start(self) -> None:
        """See `WorkerPool.start`. There is nothing to start."""

    async def call(
        self,
        fn_ref: str,
        args: list[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        account: str,
        key: str,
        timeout: float | None = None,
        cpu_seconds: float | None = None,
        ready: Ready | None = None,
    ) -> Any:
        """See `WorkerPool.call`. A function that takes longer than ``timeout`` is left behind."""
        result = await _call_in_thread(fn_ref, args, kwargs, key, timeout, ready)
        return values.load(values.dump(result), None)

    async def build(
        self,
        fn_ref: str,
        args: list[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        account: str,
        key: str,
        into: Path,
        timeout: float | None = None,
        ready: Ready | None = None,
    ) -> None:
        """See `WorkerPool.build`."""
        result = await _call_in_thread(fn_ref, args, kwargs, key, timeout, ready)
        if isinstance(result, str):
            result = result.encode()
        elif isinstance(result, Path):
            result = result.read_bytes()
        elif not isinstance(result, bytes | bytearray | memoryview):
            kind = type(result).__qualname__
            raise TypeError(f"the function must return bytes, str or Path for a file, not {kind}")
        into.write_bytes(result)


async def _call_in_thread(
    fn_ref: str,
    args: list[Any],
    kwargs: Mapping[str, Any] | None,
    key: str,
    timeout: float | None,
    ready: Ready | None,
) -> Any:
    fn: Callable[..., Any] = values.resolve(fn_ref)
    args, keywords = values.load(values.dump_local([args, dict(kwargs or {})]), None)
    if ready is not None:
        await ready()

    def body() -> Any:
        current_step_key.set(key)  # in the thread's own copy of the context
        return fn(*args, **keywords)

    async with asyncio.timeout(timeout):
        try:
            return await asyncio.to_thread(body)
        except Exception as error:
            rebuilt = values.rebuild_error(values.describe_error(error))
            values.remember_class_names(rebuilt, values.class_names(error))
            # One exception with the lines of both sides: the rebuilt one says nothing more.
            raise rebuilt.with_traceback(error.__traceback__) from error.__cause__
