"""The bodies of webhook events (spec: Webhook events 2). Built by `contract.render`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agentpost.contract.message import JobShape, MessageShape

_TYPE = Field(description="The name of the event.")
_TIMESTAMP = Field(description="When it happened.")


class MessageEventShape(BaseModel):
    """A message has reached a status other than `processing`, or has become final."""

    type: str = _TYPE
    timestamp: str = _TIMESTAMP
    data: MessageShape = Field(description="The message, as a read gives it.")


class JobEventData(JobShape):
    """A job by itself."""

    object: Literal["job"]
    message_id: str = Field(description="The message that started it.")


class JobEventShape(BaseModel):
    """Something became of a job; sent once, for the message that started it."""

    type: str = _TYPE
    timestamp: str = _TIMESTAMP
    data: JobEventData
