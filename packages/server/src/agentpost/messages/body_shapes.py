"""The bodies of requests: what several have in common, and those about messages (spec: InlineFile;
createMessage).

They are pydantic's: its sentences are the ``problems`` that callers read.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from agentpost.contract import validation
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, Refusal


class Request(BaseModel):
    """Bodies are strict about types; unknown fields are ignored; null counts as absent."""

    model_config = ConfigDict(strict=True, extra="ignore")


class InlineFileIn(Request):
    """A file in the body of a message: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the service fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


def id_schema(prefix: str) -> dict[str, Any]:
    """The JSON schema of an id. It is only described: what has another form is the id of nothing,
    and is refused as any unknown id is."""
    return {"type": "string", "pattern": ids.pattern(prefix)}


TimeIn = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
MessageId = Annotated[str, WithJsonSchema(id_schema(ids.MESSAGE))]
EndpointId = Annotated[str, WithJsonSchema(id_schema(ids.ENDPOINT))]
MessageText = Annotated[
    str, WithJsonSchema({"type": "string", "maxLength": limits.MESSAGE_CHARACTERS_MAX})
]
"""A longer one is refused as `too_long`."""
UploadIds = Annotated[
    list[str],
    WithJsonSchema(
        {
            "type": "array",
            "items": id_schema(ids.UPLOAD),
            "maxItems": limits.UPLOADS_PER_MESSAGE_MAX,
        }
    ),
]
"""More are refused as `too_many`."""
MetadataValue = Annotated[str, Field(max_length=limits.METADATA_VALUE_CHARACTERS_MAX)]
MetadataKey = Annotated[str, Field(max_length=limits.METADATA_KEY_CHARACTERS_MAX)]
Metadata = Annotated[
    dict[MetadataKey, MetadataValue], Field(max_length=limits.METADATA_ENTRIES_MAX)
]
Conversation = Annotated[str, Field(max_length=limits.CONVERSATION_CHARACTERS_MAX)]
MaxCredits = Annotated[float, Field(gt=0, le=limits.MAX_CREDITS_MAX, allow_inf_nan=False)]
RESPONSE_SCHEMA = (
    "A JSON Schema of up to 16 KiB that the message's `output` has to fit: of draft 2020-12, or of"
    " an earlier one that `$schema` names (06, 07, 2019-09), as far as it means the same. Its"
    " references name parts of itself; a part may contain itself."
)


class MessageIn(Request):
    """At least one of `message`, `files`, `upload_ids` and `answer` is needed."""

    message: MessageText | None = Field(
        default=None,
        description="What to do, in plain language; up to 20,000 characters, trimmed.",
        examples=["Chart revenue by month from the attached CSV"],
    )
    files: list[InlineFileIn] | None = Field(
        default=None,
        description="Up to 5 are taken, 10 MB each, 25 MB together; the rest become notes.",
    )
    upload_ids: UploadIds | None = Field(
        default=None, description="Finished uploads; up to 10, 1 GB together."
    )
    webhook_endpoint_id: EndpointId | None = Field(
        default=None, description="The endpoint that alone receives this message's events."
    )
    conversation: Conversation | None = Field(
        default=None,
        description="Names the conversation, e.g. your customer's id; each has its own past.",
    )
    metadata: Metadata | None = Field(
        default=None, description="Up to 16 labels of your own, given back unchanged."
    )
    busy: Literal["wait", "fail", "queue"] | None = Field(
        default=None,
        description=(
            "While the conversation has another turn: `wait` for a while, then `agent_busy` (the"
            " default); `fail` as `agent_busy` at once; `queue`: the call is answered at once with"
            " `queue_position`, and the turn comes when the conversation is free."
        ),
    )
    max_credits: MaxCredits | None = Field(
        default=None,
        description="What the work that this message starts may use; then it is parked.",
    )

    answer_to: MessageId | None = Field(
        default=None,
        description=(
            "The message whose question this one answers; its conversation is that one's. A"
            " question is answered once."
        ),
    )
    answer: Any = Field(
        default=None,
        description=(
            "With `answer_to`: the answer, a choice as its text or JSON that fits the schema;"
            " `message` may be left out then. Up to 20,000 characters as JSON."
        ),
    )
    response_schema: dict[str, Any] | None = Field(default=None, description=RESPONSE_SCHEMA)


_CONTENT_FIELDS = ("message", "files", "upload_ids")


def refuse_by_name(fields: dict[str, Any]) -> None:
    """Raise what has a code of its own before anything else is said of a message's fields, whose
    types nobody has checked yet (design: Input): ``too_long``, ``too_many``, ``empty_message``."""
    message, uploads = fields.get("message"), fields.get("upload_ids")
    if isinstance(message, str) and len(message.strip()) > limits.MESSAGE_CHARACTERS_MAX:
        raise too_long()
    if isinstance(uploads, list):
        distinct = {each for each in uploads if isinstance(each, str)}
        if len(distinct) > limits.UPLOADS_PER_MESSAGE_MAX:
            most = limits.UPLOADS_PER_MESSAGE_MAX
            raise Refusal(ErrorCode.TOO_MANY, f"A message may have up to {most} uploads.")
    is_blank = message is None or (isinstance(message, str) and not message.strip())
    if is_blank and fields.get("answer") is None and not fields.get("files") and not uploads:
        if any(fields.get(name) not in (None, []) for name in ("files", "upload_ids")):
            return  # it has another type than a list, which is said with its name
        hint = validation.hint(fields, _CONTENT_FIELDS, MessageIn.model_fields)
        raise Refusal(ErrorCode.EMPTY_MESSAGE, f"Give a message, files or upload_ids.{hint}")


def too_long() -> Refusal:
    """The refusal of a text that is longer than a message may be."""
    most = f"{limits.MESSAGE_CHARACTERS_MAX:,}"
    return Refusal(
        ErrorCode.TOO_LONG, f"The message is over {most} characters; attach it as a file."
    )


class RecoverIn(Request):
    """A recover needs no body; this one may come with it."""

    max_credits: MaxCredits | None = Field(
        default=None,
        description="What the message's work may use from now on; parked work continues.",
    )
