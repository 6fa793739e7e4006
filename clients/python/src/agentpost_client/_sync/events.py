# Made by docs/client_sync.py from agentpost_client/_async/events.py; change that.
"""The events of an account: what webhooks bring, read without an endpoint."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace

from agentpost_client._sync.following import EMPTY_POLL_SECONDS
from agentpost_client._sync.streams import EventStream, NoStream
from agentpost_client._sync.transport import Transport
from agentpost_client.errors import BadAnswer
from agentpost_client.events import Event, EventPage, read_event
from agentpost_client.limits import WAIT_SECONDS_MAX
from agentpost_client.operations import operation
from agentpost_client.records import WrongShape
from agentpost_client.requests import list_account_events
from agentpost_client.sse import ServerEvent


class Events:
    """What happened in the account, whichever key sent the message."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @operation("listEvents")
    def list(
        self,
        cursor: str | None = None,
        *,
        types: Iterable[str] | None = None,
        conversation: str | None = None,
        wait: int = 0,
        limit: int | None = None,
    ) -> EventPage:
        """The next page, waiting up to ``wait`` seconds (0 to 45) for events.

        An empty page behind a ``cursor`` takes a second at least. Without a ``cursor`` events
        begin with this call. `follow` reads all pages.
        """
        request = list_account_events(cursor, types, conversation, wait=wait, limit=limit)
        return self._transport.ask(request, EventPage)

    def follow(
        self,
        cursor: str | None = None,
        *,
        types: Iterable[str] | None = None,
        conversation: str | None = None,
    ) -> Generator[Event, None, None]:
        """The events as they come, without an end.

        Without a ``cursor`` they begin with this call. A connection that breaks is made again and
        nothing is lost or repeated. To go on later, keep ``event.cursor``. ``types`` are names such
        as ``message.completed``; ``conversation`` leaves only the events of that one.
        """
        names = None if types is None else tuple(types)
        stream = EventStream(
            self._transport,
            lambda at: list_account_events(at, names, conversation, is_stream=True),
            cursor,
        )
        try:
            with closing(stream.events()) as events:
                for event in events:
                    if event.data and event.id is not None:
                        yield _event(event)
        except NoStream:  # a proxy keeps it back
            with closing(self._poll(cursor, names, conversation)) as poll:
                yield from poll

    def _poll(
        self, cursor: str | None, types: tuple[str, ...] | None, conversation: str | None
    ) -> Generator[Event, None, None]:
        clock, has_answer = self._transport.options.clock, False
        while True:
            start = clock()
            request = list_account_events(cursor, types, conversation, wait=WAIT_SECONDS_MAX)
            page = self._transport.ask(request, EventPage, patient=has_answer)
            has_answer = True
            for event in page.data:
                # Only the page has a cursor: a reader that stops before gets the rest again.
                yield replace(event, cursor=page.cursor if event is page.data[-1] else cursor)
            cursor = page.cursor
            if not page.data and clock() - start < EMPTY_POLL_SECONDS:
                self._transport.pause(EMPTY_POLL_SECONDS)


def _event(event: ServerEvent) -> Event:
    try:
        return read_event(json.loads(event.data), cursor=event.id)
    except WrongShape as error:
        raise BadAnswer(f"The stream has something that is no event (at {error}).") from None
    except ValueError:
        raise BadAnswer("An event of the stream is not JSON.") from None
