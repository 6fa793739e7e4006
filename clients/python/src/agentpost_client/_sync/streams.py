# Made by docs/client_sync.py from agentpost_client/_async/streams.py; change that.
"""Event streams, over as many connections as it takes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from agentpost_client._sync.http import HttpResponse
from agentpost_client._sync.transport import Transport, log
from agentpost_client.errors import BadAnswer
from agentpost_client.retries import trouble
from agentpost_client.sse import MEDIA_TYPE, EventLines, Lines, ServerEvent
from agentpost_client.wire import (
    Answer,
    Call,
    Fault,
    NoAnswer,
    failure,
    read_answer,
    stream_request,
)

SILENCE_SECONDS = 45.0
"""The server says something more often than this, be it that nothing happens."""
CURSOR_EXPIRED = "cursor_expired"
"""The event that says: the cursor is older than what is kept."""
ENDED = Fault("the stream ended", brief="the stream ended")


class NoStream(BadAnswer):
    """What is there is no event stream: a server without it, or a proxy that keeps it back."""


class EventStream:
    """The events of one address; a connection that breaks is made again at the ``cursor``.

    ``call`` makes the request that goes on behind a cursor. `cursor` is always the newest one.
    """

    def __init__(
        self, transport: Transport, call: Callable[[str | None], Call], cursor: str | None
    ) -> None:
        self._transport = transport
        self._call = call
        self._answered = False
        self._failures = 0
        self.cursor = cursor

    def events(self) -> Generator[ServerEvent, None, None]:
        """The events, without an end: whoever reads them knows the last one.

        Raises `NoStream` when the first connection is none, and what a final failure is.
        """
        while True:
            outcome: Answer | Fault = ENDED
            call = self._call(self.cursor)
            try:
                with self._transport.http.stream(**self._request(call)) as response:
                    if response.is_success:
                        yield from self._events(response)
                    else:
                        outcome = read_answer(response, response.read())
            except NoAnswer as error:
                outcome = error.fault
            self._recover(call, outcome)

    def _events(self, response: HttpResponse) -> Iterator[ServerEvent]:
        if not response.headers.get("content-type", "").startswith(MEDIA_TYPE):
            raise NoStream("The answer is no event stream.", response.headers.get("request-id"))
        lines, events = Lines(), EventLines()
        for data in response.iter_bytes():
            for line in lines.feed(data):
                self._answered = True
                event = events.feed(line)
                if event is None:
                    continue
                self._failures = 0
                if event.name == CURSOR_EXPIRED:
                    log.warning("The cursor has expired: what came after it may be missing")
                if event.id is not None:
                    self.cursor = event.id
                yield event

    def _request(self, call: Call) -> dict[str, Any]:
        options = self._transport.options
        return stream_request(options.config, call, SILENCE_SECONDS)

    def _recover(self, call: Call, outcome: Answer | Fault) -> None:
        """Wait until the next connection, or raise what ends the stream."""
        options = self._transport.options
        if isinstance(outcome, Fault) and outcome.is_timeout and not self._answered:
            raise NoStream(f"Nothing of the stream arrived: {outcome.problem}.")
        policy = options.policy
        retries = policy.retries_while_following if self._answered else policy.retries
        pause = policy.pause(self._failures, outcome) if self._failures < retries else None
        if pause is None:
            raise failure(outcome, options.config.url)
        self._failures += 1
        self._transport.pause(pause, trouble(outcome), call.name)
