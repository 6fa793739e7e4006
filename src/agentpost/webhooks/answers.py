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

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`; called for each request."""
        self.answered = False
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


class Answer(aiohttp.ClientResponse):
    """An answer that comes to the point: the HTTP client itself would read interim answers (1xx)
    for as long as they come, with all the CPU there is."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """See `ClientResponse`. Raises `ClientPayloadError` when the answer broke off in its head:
        not what a connection raises that was closed before the request arrived."""
        protocol = connection.protocol
        assert isinstance(protocol, AnswerReader)
        read, left = protocol.read, _INTERIM_ANSWERS_MAX

        async def bounded_read() -> tuple[RawResponseMessage, StreamReader]:
            nonlocal left
            if left < 0:
                raise HttpProcessingError(message="too many interim answers")
            left -= 1
            return await read()

        protocol.read = bounded_read  # type: ignore[method-assign]
        try:
            return await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if protocol.answered:
                raise aiohttp.ClientPayloadError from error
            raise
        finally:
            del protocol.read
