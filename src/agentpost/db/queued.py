"""Writes that wait for a thread which commits several at once, on either database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import structlog

from agentpost.db.session import Tx

log = structlog.get_logger(__name__)


class Write:
    """A queued write function with the future its caller awaits."""

    __slots__ = ("callbacks", "error", "fn", "future", "loop", "queued_at", "result")

    def __init__(
        self,
        fn: Callable[[Tx], Any],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
    ) -> None:
        self.fn = fn
        self.loop = loop
        self.future = future
        self.queued_at = time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None
        self.callbacks: list[Callable[[], None]] = []


def resolve(items: list[Write]) -> None:
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


def _set_results(items: list[Write]) -> None:
    for item in items:
        if item.future.done():  # cancelled
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
