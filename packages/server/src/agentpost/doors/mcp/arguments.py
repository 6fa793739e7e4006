"""The arguments of the tools; their schemas are made from these classes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agentpost.domain import ids, limits
from agentpost.domain.limits import MCP_WAIT_SECONDS_MAX

_WAIT = Field(
    ge=0, le=MCP_WAIT_SECONDS_MAX, description="How long to wait for the end, in seconds."
)

Id = Annotated[str, Field(min_length=1, max_length=200)]


class Arguments(BaseModel):
    """The base: what is not known is refused, so that a misspelt argument is not lost."""

    model_config = ConfigDict(extra="forbid")


class FileArgument(Arguments):
    """A file to send along: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the server fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


class _Sent(Arguments):
    text: str = Field(
        default="",
        description="What to say or what to do, in plain language; up to 20,000 characters.",
    )
    files: list[FileArgument] = Field(
        default=[],
        max_length=limits.INLINE_FILES_MAX,
        description="Up to 5 files, 10 MB each; larger ones as uploads.",
    )
    upload_ids: list[str] = Field(
        default=[],
        max_length=limits.UPLOADS_PER_MESSAGE_MAX,
        description="Finished uploads of the HTTP API (POST /v1/uploads).",
    )
    metadata: dict[str, str] | None = Field(
        default=None,
        max_length=limits.METADATA_ENTRIES_MAX,
        description="Up to 16 labels of your own, given back unchanged.",
    )
    idempotency_key: str | None = Field(
        default=None, description="Sending again with the same key starts nothing twice."
    )
    wait_seconds: Annotated[int, _WAIT] = 30


class SendArguments(_Sent):
    """Of `send_message`."""

    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="The conversation to continue, as an earlier result names it. Without one the"
        " agent knows nothing of what was said before.",
    )


class AnswerArguments(_Sent):
    """Of `answer_question`."""

    message_id: Id | None = Field(default=None, description="The message that asks.")
    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="Its conversation, when the message does not tell it.",
    )


class FollowArguments(Arguments):
    """Of `follow_message`."""

    message_id: Id
    wait_seconds: Annotated[int, _WAIT] = 45


class MessageArguments(Arguments):
    """Of tools for one message."""

    message_id: Id


class MessagesArguments(Arguments):
    """Of `list_messages`."""

    conversation: str | None = Field(default=None, description="Only those of this conversation.")
    before: str | None = Field(
        default=None,
        pattern=ids.pattern(ids.MESSAGE),
        description="Only those older than this message id.",
    )
    limit: int = Field(
        default=limits.MESSAGE_LIST_DEFAULT,
        ge=1,
        le=limits.MESSAGE_LIST_MAX,
        description="How many.",
    )


class WorksArguments(Arguments):
    """Of `list_work`."""

    limit: int = Field(
        default=limits.WORK_LIST_DEFAULT, ge=1, le=limits.WORK_LIST_MAX, description="How many."
    )


class WorkArguments(Arguments):
    """Of `get_work`."""

    work_id: Id
    from_char: int = Field(
        default=0,
        ge=0,
        le=2**31,
        description="Where to continue: `next_from_char` of the last page.",
    )


class StopWorkArguments(Arguments):
    """Of `stop_work`."""

    work_id: Id
