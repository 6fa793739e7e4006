"""What waits or blocks, for asyncio: the disk in threads, beside the event loop.

`agentpost_client._sync.io` has the same names for threads of the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from typing import ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from agentpost_client.attachments import Attachment

P = ParamSpec("P")
T = TypeVar("T")

sleep = anyio.sleep

PLACE = "event loop"
"""What connections belong to, in words."""


def place() -> object:
    """The event loop that runs."""
    return anyio.lowlevel.current_token().native_token


def is_over(place: object) -> bool:
    """Whether the loop has ended, so that its connections can only be dropped."""
    return isinstance(place, asyncio.AbstractEventLoop) and place.is_closed()


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call what blocks on the disk."""
    return await anyio.to_thread.run_sync(lambda: function(*args, **kwargs))


async def beside(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same chunks, read from the disk beside the event loop."""
    while (chunk := await anyio.to_thread.run_sync(next, chunks, None)) is not None:
        yield chunk


async def pieces(attachment: Attachment) -> AsyncIterator[bytes]:
    """What a caller's iterator gives, of either kind."""
    data = attachment.data
    assert not isinstance(data, bytes)
    if isinstance(data, AsyncIterable):
        async for chunk in data:
            yield chunk
    else:
        async for chunk in beside(iter(data)):
            yield chunk
