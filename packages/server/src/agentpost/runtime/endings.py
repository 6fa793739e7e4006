"""Record the end of a turn or job, even if the database is away for a long time."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from agentpost.domain import backoff
from agentpost.domain.errors import Fenced

log = structlog.get_logger(__name__)
RETRY_SECONDS_FIRST = 0.2
_RETRY_SECONDS_MAX = 10.0


async def retry_until_recorded(write: Callable[[], Awaitable[None]], owner: str) -> None:
    """Retry until the end is recorded: only this process has the result.

    Raises `Fenced` when another node owns the turn or job; that is also how a second try learns
    that the first one went through after all.
    """
    tries = 0
    while True:
        try:
            await write()
            return
        except Fenced:
            raise
        except Exception as error:
            log.warning("result_not_recorded", owner=owner, tries=tries + 1, error=str(error))
        await asyncio.sleep(backoff.pause(tries, RETRY_SECONDS_FIRST, _RETRY_SECONDS_MAX))
        tries += 1
