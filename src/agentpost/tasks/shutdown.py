"""Ending the parts of a server, so that one that fails leaves none of the others running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

log = structlog.get_logger(__name__)
PART_SECONDS = 10.0
End = tuple[str, Callable[[], Awaitable[object]]]
"""A part, and how it is ended."""


async def end_all(ends: Sequence[End], seconds: float = PART_SECONDS) -> bool:
    """End one part after the other, each within ``seconds`` and whatever becomes of the others.

    False when one failed or hangs: something of it may still be running.
    """
    ended = True
    for part, end in ends:
        try:
            async with asyncio.timeout(seconds):
                await end()
        except Exception:  # a TimeoutError too
            log.exception("part_not_ended", part=part)
            ended = False
    return ended
