# Made by docs/client_sync.py from agentpost_client/_async/following.py; change that.
"""Reading along with a message's log, by its event stream or, without one, by long polls."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from agentpost_client._sync.streams import EventStream, NoStream
from agentpost_client._sync.transport import Transport
from agentpost_client.deltas import TextDelta, TextReset
from agentpost_client.errors import BadAnswer, MethodNotAllowed, NotFound, PollInProgress
from agentpost_client.limits import WAIT_SECONDS_MAX
from agentpost_client.models import Entry, EntryPage
from agentpost_client.records import Record, WrongShape
from agentpost_client.requests import list_events, stream_message
from agentpost_client.sse import ServerEvent

EMPTY_POLL_SECONDS = 1.0
"""A long poll with nothing new that came back sooner was not held; don't ask in a tight loop."""
END = "end"
"""The event after the last entry."""
EPHEMERAL: dict[str, type[TextDelta] | type[TextReset]] = {"delta": TextDelta, "reset": TextReset}
"""Events that have no place in the log."""
R = TypeVar("R", bound=Record)


def follow(
    transport: Transport, message_id: str, cursor: str | None, after: int
) -> Generator[Entry, None, None]:
    """The entries behind the cursor whose number is above ``after``, until there can be no more."""
    with closing(stream(transport, message_id, cursor, after)) as parts:
        for part in parts:
            if isinstance(part, Entry):
                yield part


def stream(
    transport: Transport, message_id: str, cursor: str | None, after: int
) -> Generator[Entry | TextDelta | TextReset, None]:
    """The same, with the text that is being written; without event streams, the entries alone."""
    if transport.has_streams:
        try:
            with closing(stream_entries(transport, message_id, cursor)) as parts:
                for part in parts:
                    if not isinstance(part, Entry):
                        yield part
                    elif part.seq > after:
                        after = part.seq
                        yield part
            return
        except (NotFound, MethodNotAllowed, NoStream):
            pass  # no such message, or a server without streams: a poll tells
    with closing(poll_entries(transport, message_id, cursor, after)) as entries:
        for entry in entries:
            transport.has_streams = False
            yield entry


def stream_entries(
    transport: Transport, message_id: str, cursor: str | None
) -> Generator[Entry | TextDelta | TextReset, None]:
    """What the event stream has; events that this version does not know are left out."""
    events_of = EventStream(transport, lambda at: stream_message(message_id, at), cursor)
    with closing(events_of.events()) as events:
        for event in events:
            if event.name == END:
                return
            if event.name in EPHEMERAL:
                yield _read(EPHEMERAL[event.name], event)
            elif event.id is not None and event.data:
                yield replace(_read(Entry, event), cursor=event.id)


def poll_entries(
    transport: Transport, message_id: str, cursor: str | None, after: int
) -> Generator[Entry, None, None]:
    """The entries by long polls.

    Only one poll per message is allowed; while somebody else holds it (``poll_in_progress``) this
    one tries again at growing distances. Nothing is lost by that: the log is read from the cursor.
    """
    clock, policy = transport.options.clock, transport.options.policy
    last_seq, refusals, has_answer = after, 0, False
    while True:
        start = clock()
        request = list_events(message_id, cursor, WAIT_SECONDS_MAX)
        try:
            page = transport.ask(request, EntryPage, patient=has_answer)
        except PollInProgress as error:
            cursor = error.cursor or cursor
            pause = EMPTY_POLL_SECONDS + policy.backoff(refusals)
            transport.pause(pause, "another reader waits for this message", request.name)
            refusals += 1
            continue
        has_answer, refusals = True, 0
        for entry in page.data:
            # A fresh cursor after an expired one may start before what was already read.
            if entry.seq > last_seq:
                last_seq = entry.seq
                position = page.cursor if entry is page.data[-1] else cursor
                yield replace(entry, cursor=position)
        cursor = page.cursor
        if page.done and not page.has_more:
            return
        if not page.data and clock() - start < EMPTY_POLL_SECONDS:
            transport.pause(EMPTY_POLL_SECONDS)


def _read(model: type[R], event: ServerEvent) -> R:
    try:
        return model.read(json.loads(event.data or "{}"))
    except WrongShape as error:
        what = f"no {model.__name__} (at {error})"
    except ValueError:
        what = "not JSON"
    raise BadAnswer(f"An event of the stream is {what}.")
