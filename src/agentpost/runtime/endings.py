"""Recording how a turn or job ended, however long the database takes to come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from agentpost.domain import backoff
from agentpost.domain.errors import Fenced

log = structlog.get_logger(__name__)
RETRY_SECONDS_FIRST = 0.2
RETRY_SECONDS_MAX = 10.0


async def retry_until_recorded(write: Callable[[], Awaitable[None]], owner: str) -> None:
    """Write an end until it is written: the result is here, and nobody else would write it.

    Raises `Fenced` when it is not ours to write; that is also how a second try learns that the
    first one went through after all.
    """
    tried = 0
    while True:
        try:
            await write()
            return
        except Fenced:
            raise
        except Exception as error:
            log.warning("result_not_recorded", owner=owner, tried=tried + 1, error=str(error))
        await asyncio.sleep(backoff.pause(tried, RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX))
        tried += 1
