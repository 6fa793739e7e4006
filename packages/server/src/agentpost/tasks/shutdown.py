"""End all parts of a server; a part that fails does not keep the others running."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

log = structlog.get_logger(__name__)
_PART_SECONDS = 6.0
_ALL_SECONDS = 12.0
_HURRY_SECONDS = 1.0
"""What each part still gets when all of them together have taken too long."""
End = tuple[str, Callable[[], Awaitable[object]]]
"""A part, and how it is ended."""


async def end_all(ends: Sequence[End], seconds: float = _PART_SECONDS) -> bool:
    """End one part after the other, each within ``seconds`` and whatever becomes of the others.
    False when one failed or hangs: something of it may still be running."""
    has_ended = True
    clock = asyncio.get_running_loop().time
    by = clock() + _ALL_SECONDS
    for part, end in ends:
        try:
            async with asyncio.timeout(min(seconds, max(by - clock(), _HURRY_SECONDS))):
                await end()
        except Exception:  # a TimeoutError too
            log.exception("part_not_ended", part=part)
            has_ended = False
    return has_ended
