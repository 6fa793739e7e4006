"""The body of a webhook request (spec: Webhook events 2)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from msgspec import UNSET, Raw

from agentpost.contract.shape import Links, Maybe, Shape, Time, about, dumps, loads
from agentpost.domain.times import iso
from agentpost.jobs.rules import JobRole
from agentpost.messages.shapes import FileShape, JobShape, MessageShape, labels
from agentpost.record.events import TEST_EVENT, EventName, NumberedEvent
from agentpost.record.records import FileRecord, JobLink, JobRecord, MessageRecord


class EventShape(Shape):
    """An event; ``data`` is as it was kept in the outbox."""

    type: Annotated[str, about("The name of the event.")]
    timestamp: Annotated[Time, about("When it happened.")]
    data: Any
    test: Annotated[
        Maybe[Literal[True]],
        about("Only in a sample that was asked for: nothing in it exists."),
    ] = UNSET

    @classmethod
    def of(
        cls, name: str, at: int, data_json: str, links: Links, *, is_sample: bool = False
    ) -> Self:
        """The event as it was kept, its files with fresh links.

        Links are signed where `MessageShape` and `JobShape` have files and nowhere else: a caller's
        ``metadata`` may look like a file.
        """
        if '"file_id":' in data_json:
            data = loads(data_json)
            for holder in (data, *data.get("jobs", ())):
                for file in holder.get("files", ()):
                    file["url"] = links.file(file["file_id"], file["revision"])
            data_json = dumps(data)
        data = Raw(data_json.encode())
        return cls(type=name, timestamp=iso(at), data=data, test=True if is_sample else UNSET)


class AccountEventShape(EventShape):
    """An event as a reader of the account's events gets it: the body of a webhook, and its id."""

    id: Annotated[str, about("`evt_<id>`; webhooks have it as `webhook-id`.")]

    @classmethod
    def read(cls, event: NumberedEvent, links: Links) -> Self:
        """The event as it was kept, its files with fresh links."""
        kept = EventShape.of(event.name, event.at, event.data_json, links)
        return cls(id=event.id, type=kept.type, timestamp=kept.timestamp, data=kept.data)


def webhook_body(event: Mapping[str, Any]) -> bytes:
    """The body of the webhook that would bring an event which `AccountEventShape` encoded: all of
    it but its id, byte for byte. The id is a header there."""
    return dumps({name: value for name, value in event.items() if name != "id"}).encode()


class AccountEventListShape(Shape):
    """A page of an account's events, oldest first."""

    object: Literal["list"] = "list"
    data: list[AccountEventShape]
    has_more: Annotated[bool, about("More events are ready.")]
    cursor: str
    cursor_expired: Maybe[bool] = UNSET


class MessageEventShape(EventShape):
    """A message has reached a status other than `processing`, or has become final."""

    data: Annotated[MessageShape, about("The message, as a read gives it.")]


class JobEventDataShape(JobShape):
    """A job, with the metadata of its message."""

    object: Literal["job"] = "job"
    message_id: Annotated[str, about("The message that started it.")]
    metadata: Annotated[Maybe[dict[str, str]], about("Of that message.")] = UNSET
    traceparent: Annotated[Maybe[str], about("Of that message.")] = UNSET

    @classmethod
    def of_started(
        cls,
        record: JobRecord,
        started_by: MessageRecord,
        files: Sequence[FileRecord],
        links: Links,
    ) -> Self:
        """The job, and what its message was given to be known again."""
        shapes = [FileShape.from_record(file, links) for file in files]
        own = JobLink(record, JobRole.EXECUTION)
        return cls.of(
            own, shapes, links, started_by, message_id=started_by.id, **labels(started_by)
        )


class JobEventShape(EventShape):
    """A job changed; sent once, for the message that started it."""

    data: JobEventDataShape


class TestEventDataShape(Shape):
    """The tested endpoint."""

    object: Literal["webhook_test"] = "webhook_test"
    webhook_endpoint_id: str


class TestEventShape(EventShape):
    """Sent on request, to see whether an endpoint works."""

    type: Annotated[Literal["webhook.test"], about("The name of the event.")]
    data: TestEventDataShape


def shape_of(name: str) -> type[EventShape]:
    """The body of an event."""
    if name == TEST_EVENT:
        return TestEventShape
    return JobEventShape if name.startswith("job.") else MessageEventShape


EVENTS = {name: shape_of(name) for name in (*map(str, EventName), TEST_EVENT)}
"""Event name -> its body."""
