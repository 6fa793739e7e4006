"""What waits or blocks, in the caller's thread. Written by hand: `agentpost_client._async.io` has
the same names for asyncio.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterable, Callable, Iterator
from typing import ParamSpec, TypeVar

from agentpost_client.attachments import Attachment
from agentpost_client.errors import FileRefused

P = ParamSpec("P")
T = TypeVar("T")

sleep = time.sleep

PLACE = "process"
"""What connections belong to, in words."""


def place() -> object:
    """This process. One that was forked from it would share its connections, and each of the two
    would read answers to the other."""
    return os.getpid()


def is_over(place: object) -> bool:
    """Whether it is the process that this one was forked from. Its connections live on there."""
    return place != os.getpid()


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
