"""Schedules, and the bodies that make and change them (design: Schedules)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema

from agentpost.contract.shape import Shape, Time, about, loads
from agentpost.domain import limits
from agentpost.domain.limits import CRON_CHARACTERS_MAX
from agentpost.domain.times import iso, iso_or_none
from agentpost.messages.body_shapes import (
    RESPONSE_SCHEMA,
    Conversation,
    EndpointId,
    MaxCredits,
    MessageText,
    Metadata,
    Request,
    TimeIn,
)
from agentpost.schedules.rules import Missed, RunOutcome, ScheduleRecord, ScheduleStatus


class ScheduledFileIn(Request):
    """A file by its address; the service fetches it for each message."""

    url: str = Field(description="Public https URL; the service fetches it.")
    name: str | None = Field(default=None, description="File name for the agent.")


class ScheduledMessageIn(Request):
    """The message that each run sends. Its fields are those of `POST /v1/messages`, but for what
    can be sent once only: uploads, contents of files and answers."""

    message: MessageText = Field(
        description="What to do, in plain language; up to 20,000 characters, trimmed.",
        json_schema_extra={"pattern": r"\S"},  # a blank one is `empty_message`
    )
    files: Annotated[list[ScheduledFileIn], Field(max_length=limits.INLINE_FILES_MAX)] | None = None
    conversation: Conversation | None = None
    metadata: Metadata | None = None
    webhook_endpoint_id: EndpointId | None = None
    busy: Literal["wait", "fail", "queue"] | None = Field(
        default=None, description="As for a message, but `queue` by default: nobody sends it again."
    )
    max_credits: MaxCredits | None = None
    response_schema: dict[str, Any] | None = Field(default=None, description=RESPONSE_SCHEMA)


Cron = Annotated[
    str,
    Field(max_length=CRON_CHARACTERS_MAX),
    WithJsonSchema(
        {"type": "string", "maxLength": CRON_CHARACTERS_MAX, "pattern": r"^\s*\S+(\s+\S+){4}\s*$"}
    ),
]


class ScheduleIn(Request):
    """Either `cron` or `at` is needed."""

    cron: Cron | None = Field(
        default=None,
        description="Five fields: minute, hour, day of month, month, day of week.",
        examples=["0 9 * * 1-5"],
    )
    at: TimeIn | None = Field(default=None, description="A time with its offset, for one run only.")
    timezone: str | None = Field(
        default=None, description="IANA name of the time zone of `cron`; UTC by default."
    )
    missed: Literal["skip", "run_once"] | None = Field(
        default=None,
        description=(
            "What becomes of runs that are over five minutes late because no server ran: `skip`"
            " (default) or `run_once`, one run for all of them."
        ),
    )
    message: ScheduledMessageIn


class ScheduleChangeIn(Request):
    """A change of a schedule."""

    paused: bool | None = Field(default=None, description="While paused it does not run.")


class RunShape(Shape):
    """The last run of a schedule."""

    planned_at: Time
    at: Annotated[Time, about("When it was sent, refused or found to be missed.")]
    outcome: RunOutcome
    message_id: str | None
    error: Annotated[str | None, about("Why it was refused.")]


class ScheduleShape(Shape):
    """A message that is sent at given times."""

    object: Literal["schedule"] = "schedule"
    id: str
    status: ScheduleStatus
    cron: str | None
    timezone: str
    missed: Missed
    message: Annotated[dict[str, Any], about("The fields of the message, as given.")]
    created_at: Time
    next_run_at: Time | None
    last_run: RunShape | None
    missed_runs: Annotated[int, about("How many runs were missed so far, and not made up for.")]

    @classmethod
    def of(cls, record: ScheduleRecord) -> Self:
        """From its record."""
        last = None
        if record.last_outcome is not None:
            last = RunShape(
                planned_at=iso(record.last_planned_at or 0),
                at=iso(record.last_at or 0),
                outcome=record.last_outcome,
                message_id=record.last_message_id,
                error=record.last_error,
            )
        return cls.with_fields_of(
            record,
            message=loads(record.message_json),
            created_at=iso(record.created_at),
            next_run_at=iso_or_none(record.next_at),
            last_run=last,
        )


class ScheduleListShape(Shape):
    """A page of schedules, newest first; continue with `before` = the last `id`."""

    object: Literal["list"] = "list"
    data: list[ScheduleShape]
    has_more: bool


class DeletedScheduleShape(Shape):
    """A removed schedule."""

    object: Literal["schedule"] = "schedule"
    id: str
    deleted: Literal[True] = True
