"""Answers of servers that break the protocol, in places where the HTTP client is too patient, or
loses what counts."""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage

# Common servers send none or one ("100 Continue", "103 Early Hints").
_INTERIM_ANSWERS_MAX = 8
_HEAD_END = b"\r\n\r\n"


class AnswerReader(ResponseHandler):
    """Reads from one connection. ``answered``: something came since the last request was sent."""

    answered = False
    _heads_left = 0

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`; called for each request."""
        self.answered = False
        self._heads_left = _INTERIM_ANSWERS_MAX + 1
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Feed the head of an answer by itself: when what follows is garbage, as after a 204 with a
        body, the parser would throw the status away with it (spec: Webhook events 6)."""
        first, self.answered = not self.answered, True
        head = data.find(_HEAD_END) + len(_HEAD_END) if first else 0
        if len(_HEAD_END) <= head < len(data):
            super().data_received(data[:head])
            data = data[head:]
        super().data_received(data)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        """The next answer. Interim ones (1xx) are read over: the client itself would do so for as
        long as they come, with all the CPU there is."""
        if self._heads_left == 0:
            raise HttpProcessingError(message="too many interim answers")
        self._heads_left -= 1
        return await super().read()


class Answer(aiohttp.ClientResponse):
    """An answer that tells whether it had begun when its connection broke."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """See `ClientResponse`. Raises `ClientPayloadError` when the answer broke off in its head:
        not what a connection raises that was closed before the request arrived."""
        try:
            return await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            protocol = connection.protocol
            if isinstance(protocol, AnswerReader) and protocol.answered:
                raise aiohttp.ClientPayloadError from error
            raise
