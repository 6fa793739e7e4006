"""Work around aiohttp's patience with servers that break the protocol, and learn whether an answer
had begun when a connection broke."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage

from agentpost.egress.post_connection import INTERIM_ANSWERS_MAX

_HEADS_MAX = INTERIM_ANSWERS_MAX + 1

is_reused: ContextVar[bool] = ContextVar("is_reused", default=False)
"""Whether the connection that this task's request was given had carried one before. Not by
aiohttp's traces, whose hooks for a request take as long as a tenth of sending it."""


class GuardedReader(ResponseHandler):
    """Reads from one connection. ``has_answered``: something came since the last
    request was sent."""

    has_answered = False
    _requests = 0
    _heads_to_read = 0

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`; called for each request."""
        self.has_answered = False
        is_reused.set(self._requests > 0)
        self._requests += 1
        self._heads_to_read = _HEADS_MAX
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """See `ResponseHandler`."""
        self.has_answered = True
        super().data_received(data)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        """The next answer. Interim ones (1xx) are read over: the client itself would do so for as
        long as they come, with all the CPU there is."""
        if self._heads_to_read == 0:
            raise HttpProcessingError(message="too many interim answers")
        self._heads_to_read -= 1
        return await super().read()


class GuardedResponse(aiohttp.ClientResponse):
    """An answer that tells whether it had begun when its connection broke."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """See `ClientResponse`. Raises `ClientPayloadError` when the answer broke off in its head:
        not what a connection raises that was closed before the request arrived."""
        try:
            return await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            protocol = connection.protocol
            if isinstance(protocol, GuardedReader) and protocol.has_answered:
                raise aiohttp.ClientPayloadError from error
            raise
