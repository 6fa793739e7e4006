"""What a webhook request holds (spec: Webhook events 2 and 4). Only described here: the bodies are
built by `contract.render`, and a test holds the two together."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agentpost.contract.message import JobShape, MessageShape
from agentpost.domain.events import TEST_EVENT, EventName

HEADERS = (
    ("webhook-id", True, "`evt_<id>`, the same for all endpoints and every attempt."),
    ("webhook-timestamp", True, "When this attempt was signed, in Unix seconds."),
    (
        "webhook-signature",
        True,
        "`v1,<base64>`, several of them separated by spaces; one has to match.",
    ),
    ("traceparent", False, "The W3C trace context the message came with, if it came with one."),
)
"""(name, whether it is always there, meaning) of the headers of a webhook request."""


class MessageEventShape(BaseModel):
    """A message reached a status other than `processing`, or became final."""

    type: str
    timestamp: str
    data: MessageShape


class JobEventDataShape(JobShape):
    """A job, with what its message was given to be known again."""

    object: Literal["job"]
    message_id: str = Field(description="The message that started the job.")
    metadata: dict[str, str] | None = Field(default=None, description="Of that message.")
    traceparent: str | None = Field(default=None, description="Of that message.")


class JobEventShape(BaseModel):
    """Something became of a job."""

    type: str
    timestamp: str
    data: JobEventDataShape


class TestEventDataShape(BaseModel):
    """Which endpoint was to be tested."""

    object: Literal["webhook_test"]
    webhook_endpoint_id: str


class TestEventShape(BaseModel):
    """Sent on request, to see whether an endpoint works."""

    type: Literal["webhook.test"]
    timestamp: str
    data: TestEventDataShape


def shape_of(name: str) -> type[BaseModel]:
    """The body of an event."""
    if name == TEST_EVENT:
        return TestEventShape
    return JobEventShape if name.startswith("job.") else MessageEventShape


EVENTS = {name: shape_of(name) for name in (*map(str, EventName), TEST_EVENT)}
"""Event name -> its body."""
