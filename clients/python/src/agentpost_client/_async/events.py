"""The events of an account: what webhooks bring, read without an endpoint."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

from agentpost_client._async.following import EMPTY_POLL_SECONDS
from agentpost_client._async.streams import AsyncEventStream, NoStream
from agentpost_client._async.transport import AsyncTransport
from agentpost_client.errors import BadAnswer
from agentpost_client.events import Event, EventPage, read_event
from agentpost_client.limits import WAIT_SECONDS_MAX
from agentpost_client.operations import operation
from agentpost_client.records import WrongShape
from agentpost_client.requests import list_account_events
from agentpost_client.sse import ServerEvent


class AsyncEvents:
    """What happened in the account, whichever key sent the message."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @operation("listEvents")
    async def list(
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
        return await self._transport.ask(request, EventPage)

    async def follow(
        self,
        cursor: str | None = None,
        *,
        types: Iterable[str] | None = None,
        conversation: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events as they come, without an end.

        Without a ``cursor`` they begin with this call. A connection that breaks is made again and
        nothing is lost or repeated. To go on later, keep ``event.cursor``. ``types`` are names such
        as ``message.completed``; ``conversation`` leaves only the events of that one.
        """
        names = None if types is None else tuple(types)
        stream = AsyncEventStream(
            self._transport,
            lambda at: list_account_events(at, names, conversation, is_stream=True),
            cursor,
        )
        try:
            async with aclosing(stream.events()) as events:
                async for event in events:
                    if event.data and event.id is not None:
                        yield _event(event)
        except NoStream:  # a proxy keeps it back
            async with aclosing(self._poll(cursor, names, conversation)) as poll:
                async for each in poll:
                    yield each

    async def _poll(
        self, cursor: str | None, types: tuple[str, ...] | None, conversation: str | None
    ) -> AsyncGenerator[Event, None]:
        clock, has_answer = self._transport.options.clock, False
        while True:
            start = clock()
            request = list_account_events(cursor, types, conversation, wait=WAIT_SECONDS_MAX)
            page = await self._transport.ask(request, EventPage, patient=has_answer)
            has_answer = True
            for event in page.data:
                # Only the page has a cursor: a reader that stops before gets the rest again.
                yield replace(event, cursor=page.cursor if event is page.data[-1] else cursor)
            cursor = page.cursor
            if not page.data and clock() - start < EMPTY_POLL_SECONDS:
                await self._transport.pause(EMPTY_POLL_SECONDS)


def _event(event: ServerEvent) -> Event:
    try:
        return read_event(json.loads(event.data), cursor=event.id)
    except WrongShape as error:
        raise BadAnswer(f"The stream has something that is no event (at {error}).") from None
    except ValueError:
        raise BadAnswer("An event of the stream is not JSON.") from None
