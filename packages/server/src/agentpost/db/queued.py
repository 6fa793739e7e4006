"""Functions that wait for a thread: writes for the one that commits several at once, on either
database, and SQLite's reads."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from agentpost.db.session import Tx

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Write:
    """A queued function with the future its caller awaits; nothing follows one that reads.

    ``changed``: it has changed a row, and left it so, where that can be seen (`Database.changes`).
    """

    fn: Callable[[Tx], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    queued_at: float = field(default_factory=time.monotonic)
    result: Any = None
    error: BaseException | None = None
    callbacks: list[Callable[[], None]] = field(default_factory=list)
    changed: bool = False


def resolve(items: Sequence[Write]) -> None:
    """Hand the results over, one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Write]] = {}
    for item in items:
        by_loop.setdefault(item.loop, []).append(item)
    for loop, of_loop in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set_results, of_loop)
        except RuntimeError:
            log.debug("loop_closed_before_result", functions=len(of_loop))


def call(callback: Callable[[], None]) -> None:
    """A callback must not take the writer down."""
    try:
        callback()
    except BaseException:
        log.exception("after_commit_failed")


def _set_results(items: Sequence[Write]) -> None:
    for item in items:
        if item.future.done():  # cancelled
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
