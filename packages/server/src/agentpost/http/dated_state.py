"""The headers of every answer, with the date of the moment they are asked for.

uvicorn makes them every second, whether or not anybody asks: for a server without work that is a
wake-up too many.
"""

from __future__ import annotations

from email.utils import formatdate

from uvicorn.config import Config
from uvicorn.server import ServerState

from agentpost.clock import Clock
from agentpost.domain.times import SECOND

Headers = list[tuple[bytes, bytes]]


class DatedState(ServerState):
    """What uvicorn's connections share."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._second: int | None = None
        self._headers: Headers = []
        super().__init__()

    def forget(self) -> None:
        """The headers of the config have changed."""
        self._second = None

    @property
    def default_headers(self) -> Headers:
        """The headers as they are in this second."""
        second = self._clock.now() // SECOND
        if second != self._second:
            self._second = second
            date = (b"date", formatdate(second, usegmt=True).encode())
            self._headers = [date, *self._config.encoded_headers]
        return self._headers

    @default_headers.setter
    def default_headers(self, headers: Headers) -> None:
        """uvicorn begins with none."""
