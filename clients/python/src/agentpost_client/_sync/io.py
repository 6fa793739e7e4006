"""What waits or blocks, in the caller's thread. Written by hand: `agentpost_client._async.io` has
the same names for asyncio.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable, Iterator
from typing import ParamSpec, TypeVar

from agentpost_client.attachments import Attachment
from agentpost_client.errors import FileRefused

P = ParamSpec("P")
T = TypeVar("T")

sleep = time.sleep


def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call what blocks on the disk."""
    return function(*args, **kwargs)


def beside(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks."""
    return chunks


def pieces(attachment: Attachment) -> Iterator[bytes]:
    """What a caller's iterator gives; raises `FileRefused` for one that has to be awaited."""
    name, data = attachment.name, attachment.data
    assert not isinstance(data, bytes)
    if isinstance(data, AsyncIterable):
        raise FileRefused(f"The iterator of {name} is asynchronous: send it with AsyncClient.")
    yield from data
