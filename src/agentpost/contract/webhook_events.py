"""The body of a webhook request (spec: Webhook events 2). Only described here: the bodies are built
by `contract.render`, and a test holds the two together."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agentpost.contract.message import JobShape, MessageShape
from agentpost.domain.events import TEST_EVENT, EventName

_TYPE = Field(description="The name of the event.")
_TIMESTAMP = Field(description="When it happened.")


class MessageEventShape(BaseModel):
    """A message has reached a status other than `processing`, or has become final."""

    type: str = _TYPE
    timestamp: str = _TIMESTAMP
    data: MessageShape = Field(description="The message, as a read gives it.")


class JobEventDataShape(JobShape):
    """A job, with the metadata of its message."""

    object: Literal["job"]
    message_id: str = Field(description="The message that started it.")
    metadata: dict[str, str] | None = Field(default=None, description="Of that message.")
    traceparent: str | None = Field(default=None, description="Of that message.")


class JobEventShape(BaseModel):
    """A job changed; sent once, for the message that started it."""

    type: str = _TYPE
    timestamp: str = _TIMESTAMP
    data: JobEventDataShape


class TestEventDataShape(BaseModel):
    """The tested endpoint."""

    object: Literal["webhook_test"]
    webhook_endpoint_id: str


class TestEventShape(BaseModel):
    """Sent on request, to see whether an endpoint works."""

    type: Literal["webhook.test"] = _TYPE
    timestamp: str = _TIMESTAMP
    data: TestEventDataShape


def shape_of(name: str) -> type[BaseModel]:
    """The body of an event."""
    if name == TEST_EVENT:
        return TestEventShape
    return JobEventShape if name.startswith("job.") else MessageEventShape


EVENTS = {name: shape_of(name) for name in (*map(str, EventName), TEST_EVENT)}
"""Event name -> its body."""
