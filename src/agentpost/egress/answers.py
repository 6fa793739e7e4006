"""Work around two aiohttp behaviours with servers that break the protocol: it is too patient, or
loses what counts."""

from __future__ import annotations

import re
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage

# Common servers send none or one ("100 Continue", "103 Early Hints").
_INTERIM_ANSWERS_MAX = 8
_HEADS_MAX = _INTERIM_ANSWERS_MAX + 1
_HEAD_END = re.compile(rb"\n\r?\n")  # the parser takes bare line feeds, too

reused: ContextVar[bool] = ContextVar("reused", default=False)
"""Whether the connection that this task's request was given had carried one before. Not by
aiohttp's traces, whose hooks for a request take as long as a tenth of sending it."""


class GuardedReader(ResponseHandler):
    """Reads from one connection. ``answered``: something came since the last request was sent."""

    answered = False
    _requests = 0
    _heads_to_read = 0
    _heads_to_feed = 0
    _head_rest = b""  # what may be the beginning of the end of a head

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`; called for each request."""
        self.answered = False
        reused.set(self._requests > 0)
        self._requests += 1
        self._heads_to_read = self._heads_to_feed = _HEADS_MAX
        self._head_rest = b""
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Feed each head by itself, up to the final one: when what follows it is garbage, as after
        a 204 with a body, the parser would throw the status away with it (spec: Webhook events 6).
        """
        self.answered = True
        while self._heads_to_feed and (end := self._end_of_head(data)):
            self._heads_to_feed -= 1
            super().data_received(data[:end])
            data = data[end:]
            if not data:
                return
        super().data_received(data)

    def _end_of_head(self, data: bytes) -> int:
        """Where in ``data`` the head ends that is being read; 0 when further on."""
        seen = self._head_rest + data
        found = _HEAD_END.search(seen)
        before, self._head_rest = len(self._head_rest), b"" if found else seen[-2:]
        return found.end() - before if found else 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """See `ResponseHandler`; called for each head that was read to its end."""
        code = data[0].code
        if not 100 <= code <= 199 or code == HTTPStatus.SWITCHING_PROTOCOLS:
            self._heads_to_feed = 0
        super().feed_data(data, size)

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
            if isinstance(protocol, GuardedReader) and protocol.answered:
                raise aiohttp.ClientPayloadError from error
            raise
