"""Parts of a connection that take little memory while nothing happens on it: there may be ten
thousand that wait for an answer, and an `asyncio.Event` is three quarters of a KiB."""

from __future__ import annotations

import asyncio
from typing import Literal

from uvicorn.protocols.http.flow_control import FlowControl


class LightEvent(asyncio.Event):
    """An event that takes next to nothing until somebody has to wait for it. Not set at first."""

    __slots__ = ("_awaited", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._awaited: asyncio.Event | None = None

    def is_set(self) -> bool:
        """See `asyncio.Event.is_set`."""
        return self._is_set

    def set(self) -> None:
        """See `asyncio.Event.set`."""
        self._is_set = True
        if self._awaited is not None:
            self._awaited.set()

    def clear(self) -> None:
        """See `asyncio.Event.clear`."""
        self._is_set = False
        if self._awaited is not None:
            self._awaited.clear()

    async def wait(self) -> Literal[True]:
        """See `asyncio.Event.wait`."""
        if self._is_set:
            return True
        if self._awaited is None:
            self._awaited = asyncio.Event()
        return await self._awaited.wait()


class LightFlow(FlowControl):
    """uvicorn's flow control."""

    __slots__ = ("_is_writable_event", "_transport", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        self._is_writable_event = LightEvent()
        self._is_writable_event.set()
