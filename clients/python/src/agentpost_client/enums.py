"""The words that records hold, as enumerations whose members are text.

Made by docs/client_models.py from the classes that the server answers with; change those.

``message.status == MessageStatus.COMPLETED`` and ``message.status == "completed"`` mean the same.
A server newer than this client may use further words; those stay plain text.
"""

from __future__ import annotations

from enum import StrEnum


class MessageStatus(StrEnum):
    """The known words of ``Message.status``, ``MessageItem.status``."""

    PROCESSING = "processing"
    NEEDS_INPUT = "needs_input"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    EXPIRED = "expired"


class JobStatus(StrEnum):
    """The known words of ``Job.status``, ``JobEventData.status``."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    EXPIRED = "expired"


class JobKind(StrEnum):
    """The known words of ``Job.kind``, ``JobEventData.kind``."""

    EXECUTION = "execution"
    REFUSAL = "refusal"


class JobRole(StrEnum):
    """The known words of ``Job.role``, ``JobEventData.role``."""

    EXECUTION = "execution"
    FOLLOW_UP = "follow_up"


class Reason(StrEnum):
    """The known words of ``Job.reason``, ``JobEventData.reason``, ``Message.reason``,
    ``MessageItem.reason``."""

    OUT_OF_CREDITS = "out_of_credits"
    HOSTING_FEES = "hosting_fees"
    TOO_MANY_RUNNING = "too_many_running"
    QUEUE_EXPIRED = "queue_expired"
    WATCH_EXPIRED = "watch_expired"
    RESULT_UNKNOWN = "result_unknown"
    EXECUTION_FAILED = "execution_failed"
    STOPPED = "stopped"
    AGENT_BUSY = "agent_busy"
    TURN_FAILED = "turn_failed"


class EntryType(StrEnum):
    """The known words of ``Entry.type``."""

    AGENT_REPLY = "agent_reply"
    PROGRESS = "progress"
    RESULT = "result"
    STATE = "state"
    TURN_FAILED = "turn_failed"
    TURN_BUSY = "turn_busy"


class Outcome(StrEnum):
    """The known words of ``Entry.outcome``."""

    COMPLETED = "completed"
    FAILED = "failed"
    STALLED_CREDITS = "stalled_credits"


class JobChange(StrEnum):
    """The known words of ``Entry.state``."""

    RESUMED = "resumed"
    STOPPED = "stopped"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class EventName(StrEnum):
    """The known words of ``JobEvent.type``, ``MessageEvent.type``."""

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


class DeliveryStatus(StrEnum):
    """The known words of ``Delivery.status``, ``LoggedDelivery.status``."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"
    CANCELLED = "cancelled"


class DisabledReason(StrEnum):
    """The known words of ``NewWebhookEndpoint.disabled_reason``,
    ``WebhookEndpoint.disabled_reason``, ``WebhookEndpointDetails.disabled_reason``."""

    FAILING = "failing"
    MANUAL = "manual"


class RecoveryState(StrEnum):
    """The known words of ``RecoveredWork.state``."""

    RECOVERING = "recovering"
    WATCHING = "watching"
    EXHAUSTED = "exhausted"
    SETTLED = "settled"


class EntryStatus(StrEnum):
    """The known words of ``Entry.status``."""

    DONE = "done"
    STARTED = "started"


class FileKind(StrEnum):
    """The known words of ``File.kind``."""

    ARCHIVE = "archive"
    AUDIO = "audio"
    DATA = "data"
    DECK = "deck"
    DOCUMENT = "document"
    IMAGE = "image"
    OTHER = "other"
    SITE = "site"
    TEXT = "text"
    VIDEO = "video"


class MessageWaitsFor(StrEnum):
    """The known words of ``Message.waits_for``, ``MessageItem.waits_for``."""

    MAX_CREDITS = "max_credits"
    NEXT_DAY = "next_day"


class RunOutcome(StrEnum):
    """The known words of ``Run.outcome``."""

    MISSED = "missed"
    REFUSED = "refused"
    SENT = "sent"


class ScheduleStatus(StrEnum):
    """The known words of ``Schedule.status``."""

    ACTIVE = "active"
    ENDED = "ended"
    PAUSED = "paused"


class ScheduleMissed(StrEnum):
    """The known words of ``Schedule.missed``."""

    RUN_ONCE = "run_once"
    SKIP = "skip"


class UsageGroup(StrEnum):
    """The known words of ``Usage.group``."""

    CONVERSATION = "conversation"
    DAY = "day"
    KEY = "key"


class WorkStatus(StrEnum):
    """The known words of ``Work.status``, ``WorkItem.status``."""

    IDLE = "idle"
    RUNNING = "running"
