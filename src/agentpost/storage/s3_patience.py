"""How long a bucket may take to answer. One that accepts connections and says nothing must not hold
its callers for ever."""

from __future__ import annotations

import asyncio

ANSWER_SECONDS = 30.0
BYTES_PER_SECOND_MIN = 128 * 1_024


def response_timeout(size: int = 0) -> asyncio.Timeout:
    """Raises `TimeoutError` when the store does not take or give so many bytes in a fair time."""
    return asyncio.timeout(ANSWER_SECONDS + size / BYTES_PER_SECOND_MIN)
