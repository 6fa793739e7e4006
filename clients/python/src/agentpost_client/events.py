"""The events of an account: what webhooks bring, and what `client.events` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self, TypeAlias

from agentpost_client import models
from agentpost_client.records import Record

TEST_EVENT = "webhook.test"


@dataclass(frozen=True, kw_only=True)
class MessageEvent(models.MessageEvent):
    """A message has reached a status other than ``processing``, or has become final."""

    id: str = ""
    """The same for every attempt to deliver the event: keep it to do nothing twice."""
    cursor: str | None = None
    """Set by `client.events.follow`: a later call goes on from here."""


@dataclass(frozen=True, kw_only=True)
class JobEvent(models.JobEvent):
    """A job changed; ``data.message_id`` is the message that started it."""

    id: str = ""
    """The same for every attempt to deliver the event: keep it to do nothing twice."""
    cursor: str | None = None
    """Set by `client.events.follow`: a later call goes on from here."""


@dataclass(frozen=True, kw_only=True)
class TestEvent(models.TestEvent):
    """Sent to one webhook endpoint on request, to see whether it works."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    id: str = ""
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class UnknownEvent(Record):
    """An event of a server newer than this client; ``raw`` has all of it."""

    type: str
    timestamp: datetime | None = None
    data: dict[str, Any] = field(default_factory=dict)
    test: bool = False
    id: str = ""
    cursor: str | None = None


Event: TypeAlias = MessageEvent | JobEvent | TestEvent | UnknownEvent


@dataclass(frozen=True, kw_only=True)
class EventPage(Record):
    """A page of an account's events, oldest first; continue with its ``cursor``."""

    data: tuple[Event, ...] = ()
    has_more: bool = False
    """More events are ready."""
    cursor: str
    cursor_expired: bool = False
    """The cursor given was older than events are kept: some may be missing."""

    @classmethod
    def read(cls, value: object) -> Self:
        """The page in a decoded JSON value; raises `records.WrongShape`."""
        page = models.AccountEventList.read(value)
        return cls(
            raw=page.raw,
            data=tuple(read_event(event.raw) for event in page.data),
            has_more=page.has_more,
            cursor=page.cursor,
            cursor_expired=page.cursor_expired,
        )


def read_event(
    value: Mapping[str, Any], *, event_id: str | None = None, cursor: str | None = None
) -> Event:
    """The event in a decoded JSON object; raises `records.WrongShape`."""
    event = _kind(str(value.get("type", ""))).read(value)
    event_id = event.id if event_id is None else event_id
    return replace(event, id=event_id, cursor=cursor)


def _kind(name: str) -> type[MessageEvent] | type[JobEvent] | type[TestEvent] | type[UnknownEvent]:
    if name == TEST_EVENT:
        return TestEvent
    match name.partition(".")[0]:
        case "message":
            return MessageEvent
        case "job":
            return JobEvent
    return UnknownEvent
