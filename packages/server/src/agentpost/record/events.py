"""The lines of a message's event log and the names of webhook events (spec: Message event log;
Webhook events).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentpost.credits.rules import Ceiling
from agentpost.messages.rules import MessageStatus


class EntryType(StrEnum):
    """``type`` of a log entry."""

    AGENT_REPLY = "agent_reply"
    PROGRESS = "progress"
    RESULT = "result"
    STATE = "state"
    TURN_FAILED = "turn_failed"
    TURN_BUSY = "turn_busy"


class Outcome(StrEnum):
    """``outcome`` of a ``result`` entry."""

    COMPLETED = "completed"
    FAILED = "failed"
    STALLED_CREDITS = "stalled_credits"


class JobStateWord(StrEnum):
    """``state`` of a ``state`` entry."""

    RESUMED = "resumed"
    STOPPED = "stopped"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class EventName(StrEnum):
    """Webhook events a client may subscribe to."""

    MESSAGE_COMPLETED = "message.completed"
    MESSAGE_PARTIAL = "message.partial"
    MESSAGE_FAILED = "message.failed"
    MESSAGE_NEEDS_INPUT = "message.needs_input"
    MESSAGE_BLOCKED = "message.blocked"
    MESSAGE_EXPIRED = "message.expired"
    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_BLOCKED = "job.blocked"
    JOB_RESUMED = "job.resumed"
    JOB_EXPIRED = "job.expired"


ALL_EVENTS = "*"
TEST_EVENT = "webhook.test"
"""Sent on request to one endpoint, whatever it subscribes to; tells about no message."""

STATE_TEXTS = {
    JobStateWord.RESUMED: "The work goes on.",
    JobStateWord.STOPPED: "The work was stopped.",
    JobStateWord.EXPIRED: "The work did not report back in time.",
    JobStateWord.UNKNOWN: "No result was found.",
}
QUEUE_EXPIRED_TEXT = "The work waited too long for credits and was dropped."
STALLED_TEXT = "The work waits for credits."
CEILING_TEXTS = {
    Ceiling.MESSAGE: (
        "The work waits: this message may use no more credits (max_credits). It continues when"
        " POST /v1/messages/{id}/recover gives a higher max_credits."
    ),
    Ceiling.DAY: (
        "The work waits: its API key may use no more credits today. It continues after midnight"
        " UTC."
    ),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line to append to the log; ``with_files``: the record adds those of the job or reply."""

    type: EntryType
    fields: dict[str, Any] = field(default_factory=dict)
    with_files: bool = False


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event that is kept for readers; ``n`` is its place among those of its account."""

    n: int
    id: str
    name: str
    at: int
    data_json: str


def message_event(
    before: tuple[MessageStatus, bool], after: tuple[MessageStatus, bool]
) -> EventName | None:
    """The event a message's move from one (status, final) to another is worth.

    Each arrival at a status other than ``processing``, and once more when nothing can change any
    more although the status stayed (spec: Webhook events 1; design: Webhook events).
    """
    status, final = after
    if status is MessageStatus.PROCESSING:
        return None
    became_final = final and not before[1]
    if status is not before[0] or became_final:
        return EventName(f"message.{status}")
    return None
